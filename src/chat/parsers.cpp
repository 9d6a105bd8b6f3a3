#include "chat/parsers.h"

#include <algorithm>

#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

using Words = std::string_view[];

constexpr Words kThinkTokens = {"<think>", "</think>"};
constexpr Words kTagTokens = {"<think>", "</think>", "<tool_call>", "</tool_call>"};
constexpr Words kHarmonyTokens = {"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>",
                                  "<|end|>"};
constexpr Words kGemma4Tokens = {"<|channel>",   "<channel|>", "<|tool_call>",
                                 "<tool_call|>", "<|\"|>",     "<|tool_response>"};
constexpr Words kDeepSeekTokens = {"<think>",
                                   "</think>",
                                   "<｜tool▁calls▁begin｜>",
                                   "<｜tool▁call▁begin｜>",
                                   "<｜tool▁sep｜>",
                                   "<｜tool▁call▁end｜>",
                                   "<｜tool▁calls▁end｜>"};
constexpr Words kMistralTokens = {"[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};
constexpr Words kLfm2Tokens = {"<|tool_call_start|>", "<|tool_call_end|>", "<think>", "</think>"};
constexpr Words kGraniteTokens = {"<think>", "</think>", "<|tool_call|>", "<tool_call>",
                                  "</tool_call>"};
constexpr Words kPhi4Tokens = {"<|tool_call|>", "<|/tool_call|>", "<think>", "</think>"};
constexpr Words kLlama3Tokens = {"<|python_tag|>"};

// Stands for the thinking between its marks.
constexpr std::string_view kBetween = "…";

constexpr std::string_view kThinkTags = "<think>…</think>";

// The last is what models get that show no sign of another.
constexpr ReplyStyle kStyles[] = {
    {"gpt-oss", "gpt-oss", "<|channel|>analysis<|message|>…<|end|>",
     "<|channel|>commentary to=functions.f<|message|>{…}<|call|>", kHarmonyTokens, "", make_gpt_oss,
     &kGptOssFrame, "thinking", "<|channel|>final<|message|>",
     "<|start|>assistant<|channel|>final<|message|>"},
    {"gemma4", "Gemma 4", "<|channel>thought…<channel|>", "<|tool_call>call:f{a:1}<tool_call|>",
     kGemma4Tokens, "<|channel>thought", make_gemma4, &kGemma4Frame},
    {"deepseek", "DeepSeek R1, V3, V3.1, and the models distilled from R1", kThinkTags,
     "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{…}<｜tool▁call▁end｜>", kDeepSeekTokens, "<think>",
     make_deepseek, &kDeepSeekFrame},
    {"mistral", "Mistral, Ministral 3, Devstral, Magistral", "[THINK]…[/THINK]",
     R"([TOOL_CALLS]f[ARGS]{…}, or [TOOL_CALLS][{"name": …, "arguments": {…}}])", kMistralTokens,
     "[THINK]", make_mistral, &kMistralFrame, "reasoning_content", "", "", /*short_ids=*/true},
    {"lfm2", "LFM2, LFM2.5", kThinkTags, R"(<|tool_call_start|>[f(a="x", b=1)]<|tool_call_end|>)",
     kLfm2Tokens, "<think>", make_lfm2, &kLfm2Frame},
    {"qwen-xml", "Qwen3-Coder, Qwen3.5", kThinkTags,
     "<tool_call><function=f><parameter=a>x</parameter></function></tool_call>", kTagTokens,
     "<think>", make_qwen_xml, &kQwenXmlFrame},
    {"olmo3", "OLMo 3", kThinkTags, R"(<function_calls>f(a="x", b=1)</function_calls>)",
     kThinkTokens, "<think>", make_olmo3, &kOlmo3Frame},
    {"granite", "Granite 3", kThinkTags, R"(<|tool_call|>[{"name": …, "arguments": {…}}])",
     kGraniteTokens, "<think>", make_granite, &kGraniteFrame},
    {"hermes", "Qwen2.5, Qwen3, SmolLM3, Granite 4, Falcon-H1, Hermes, ChatML with tools",
     kThinkTags, R"(<tool_call>{"name": …, "arguments": {…}}</tool_call>)", kTagTokens, "<think>",
     make_hermes, &kHermesFrame},
    {"phi4", "Phi-4-mini", kThinkTags,
     R"(<|tool_call|>[{"name": …, "arguments": {…}}]<|/tool_call|>, or functools[…])", kPhi4Tokens,
     "<think>", make_phi4, &kPhi4Frame},
    {"llama3", "Llama 3.1, 3.2, 3.3", "",
     R"({"name": …, "parameters": {…}}; <|python_tag|>f.call(a="x"); <|python_tag|> and code)",
     kLlama3Tokens, "", make_llama3, &kLlama3Frame},
    {"think", "models that think and whose template knows no tools", kThinkTags, "", kThinkTokens,
     "<think>", make_think},
    {"plain",
     "SmolLM2, Gemma 2 and 3, Phi-3, OLMo 2, ChatML, and whatever is not known",
     "",
     "",
     {},
     "",
     make_plain},
};

constexpr Words kHarmony = {"<|channel|>", "<|message|>"};
constexpr Words kGemma4 = {"<|tool_call>"};
constexpr Words kDeepSeek = {"<｜tool▁calls▁begin｜>"};
constexpr Words kMistral = {"[TOOL_CALLS]"};
constexpr Words kMagistral = {"[THINK]"};
constexpr Words kLfm2 = {"<|tool_call_start|>"};
constexpr Words kLfm2Tools = {"List of tools: ["};
constexpr Words kQwenXml = {"<function=", "<parameter="};
constexpr Words kOlmo3 = {"<function_calls>"};
constexpr Words kGranite = {"<|start_of_role|>", "<|tool_call|>"};
constexpr Words kHermes = {"<tool_call>"};
constexpr Words kPhi4 = {"<|tool|>"};
constexpr Words kFunctools = {"functools["};
constexpr Words kLlama3 = {"<|start_header_id|>", "\"parameters\""};
constexpr Words kThink = {"<think>"};
constexpr Words kThinkEnd = {"</think>"};

// A template that holds all of the words is of the style. The first that fits is taken: some
// families know the marks of others too.
struct Sign {
  std::span<const std::string_view> words;
  std::string_view style;
};
constexpr Sign kSigns[] = {
    {kHarmony, "gpt-oss"},   {kGemma4, "gemma4"},   {kDeepSeek, "deepseek"}, {kMistral, "mistral"},
    {kMagistral, "mistral"}, {kLfm2, "lfm2"},       {kLfm2Tools, "lfm2"},    {kQwenXml, "qwen-xml"},
    {kOlmo3, "olmo3"},       {kGranite, "granite"}, {kHermes, "hermes"},     {kPhi4, "phi4"},
    {kFunctools, "phi4"},    {kLlama3, "llama3"},   {kThink, "think"},       {kThinkEnd, "think"},
};

}  // namespace

std::string ReplyStyle::thinking_begins() const {
  return std::string(thinking.substr(0, thinking.find(kBetween)));
}

std::string ReplyStyle::thinking_ends() const {
  const size_t at = thinking.find(kBetween);
  return std::string(at == thinking.npos ? "" : thinking.substr(at + kBetween.size()));
}

bool ReplyStyle::reads_token(std::string_view text) const {
  return std::ranges::find(tokens, text) != tokens.end();
}

bool ReplyStyle::opens_thinking(std::string_view prompt) const {
  if (think_open.empty()) return false;
  const size_t last = prompt.find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && prompt.substr(0, last + 1).ends_with(think_open);
}

std::span<const ReplyStyle> reply_styles() { return kStyles; }

const ReplyStyle& reply_style(std::string_view template_source) {
  const auto has = [&](std::string_view word) {
    return template_source.find(word) != std::string_view::npos;
  };
  std::string_view name = "plain";
  for (const Sign& sign : kSigns) {
    if (!std::ranges::all_of(sign.words, has)) continue;
    name = sign.style;
    break;
  }
  return *std::ranges::find(kStyles, name, &ReplyStyle::name);
}

}  // namespace puna::chat
