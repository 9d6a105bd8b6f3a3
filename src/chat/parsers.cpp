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
constexpr Words kLlama4Tokens = {"<|python_start|>", "<|python_end|>"};
constexpr Words kGlmTokens = {"<think>",   "</think>",   "<tool_call>", "</tool_call>",
                              "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"};
constexpr Words kSeedTokens = {"<seed:think>", "</seed:think>", "<seed:tool_call>",
                               "</seed:tool_call>"};
constexpr Words kHunyuanTokens = {"<think>",      "</think>",      "<answer>",    "</answer>",
                                  "<tool_calls>", "</tool_calls>", "<tool_call>", "</tool_call>"};
constexpr Words kApertusTokens = {"<|inner_prefix|>", "<|inner_suffix|>", "<|tools_prefix|>",
                                  "<|tools_suffix|>"};
constexpr Words kCommandTokens = {"<|START_THINKING|>", "<|END_THINKING|>",   "<|START_ACTION|>",
                                  "<|END_ACTION|>",     "<|START_RESPONSE|>", "<|END_RESPONSE|>",
                                  "<|START_TEXT|>",     "<|END_TEXT|>"};
constexpr Words kNemotronTokens = {"<think>", "</think>", "<TOOLCALL>", "</TOOLCALL>"};
constexpr Words kInternLmTokens = {"<|action_start|>", "<|plugin|>", "<|action_end|>", "<think>",
                                   "</think>"};
constexpr Words kMiniCpm3Tokens = {"<|tool_call_start|>", "<|tool_call_end|>", "<|thought_start|>",
                                   "<|thought_end|>"};
constexpr Words kErnieTokens = {"<think>",      "</think>",   "<tool_call>",
                                "</tool_call>", "<response>", "</response>"};

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
    {"command", "Command R7B, Command A", "<|START_THINKING|>…<|END_THINKING|>",
     R"(<|START_ACTION|>[{"tool_name": …, "parameters": {…}}]<|END_ACTION|>)", kCommandTokens,
     "<|START_THINKING|>", make_command, &kCommandFrame},
    {"apertus", "Apertus", "<|inner_prefix|>…<|inner_suffix|>",
     R"(<|tools_prefix|>[{"f": {…}}]<|tools_suffix|>)", kApertusTokens, "<|inner_prefix|>",
     make_apertus, &kApertusFrame},
    {"seed", "Seed-OSS", "<seed:think>…</seed:think>",
     "<seed:tool_call><function=f><parameter=a>x</parameter></function></seed:tool_call>",
     kSeedTokens, "<seed:think>", make_seed, &kSeedFrame},
    {"glm", "GLM-4.5, 4.6, 4.7", kThinkTags,
     "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>", kGlmTokens, "<think>",
     make_glm, &kGlmFrame},
    {"glm4", "GLM-4 0414", "", "f, a line end and {…}", {}, "", make_glm4, &kGlm4Frame},
    {"minicpm3", "MiniCPM3", "<|thought_start|>…<|thought_end|>",
     R"(<|tool_call_start|>f(a="x", b=1)<|tool_call_end|>)", kMiniCpm3Tokens, "<|thought_start|>",
     make_minicpm3, &kMiniCpm3Frame},
    {"lfm2", "LFM2, LFM2.5", kThinkTags, R"(<|tool_call_start|>[f(a="x", b=1)]<|tool_call_end|>)",
     kLfm2Tokens, "<think>", make_lfm2, &kLfm2Frame},
    {"qwen-xml", "Qwen3-Coder, Qwen3.5, Nemotron 3", kThinkTags,
     "<tool_call><function=f><parameter=a>x</parameter></function></tool_call>", kTagTokens,
     "<think>", make_qwen_xml, &kQwenXmlFrame},
    {"olmo3", "OLMo 3", kThinkTags, R"(<function_calls>f(a="x", b=1)</function_calls>)",
     kThinkTokens, "<think>", make_olmo3, &kOlmo3Frame},
    {"granite", "Granite 3", kThinkTags, R"(<|tool_call|>[{"name": …, "arguments": {…}}])",
     kGraniteTokens, "<think>", make_granite, &kGraniteFrame},
    {"nemotron", "Nemotron Nano 2, Minitron", kThinkTags,
     R"(<TOOLCALL>[{"name": …, "arguments": {…}}]</TOOLCALL>)", kNemotronTokens, "<think>",
     make_nemotron, &kNemotronFrame},
    {"internlm", "InternLM 2, 2.5, 3", kThinkTags,
     R"(<|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>)", kInternLmTokens,
     "<think>", make_internlm, &kInternLmFrame},
    {"hunyuan", "Hunyuan, Jamba", kThinkTags,
     R"(<tool_calls>[{"name": …, "arguments": {…}}]</tool_calls>, or <tool_call>f{…}</tool_call> there)",
     kHunyuanTokens, "<think>", make_hunyuan, &kHunyuanFrame},
    {"ernie", "ERNIE 4.5", kThinkTags, R"(<tool_call>{"name": …, "arguments": {…}}</tool_call>)",
     kErnieTokens, "<think>", make_ernie, &kHermesFrame},
    {"hermes", "Qwen2.5, Qwen3, SmolLM3, EXAONE 4, Granite 4, Falcon-H1, Hermes, ChatML with tools",
     kThinkTags, R"(<tool_call>{"name": …, "arguments": {…}}</tool_call>)", kTagTokens, "<think>",
     make_hermes, &kHermesFrame},
    {"phi4", "Phi-4-mini", kThinkTags,
     R"(<|tool_call|>[{"name": …, "arguments": {…}}]<|/tool_call|>, or functools[…])", kPhi4Tokens,
     "<think>", make_phi4, &kPhi4Frame},
    {"llama3", "Llama 3.1, 3.2, 3.3", "",
     R"({"name": …, "parameters": {…}}; <|python_tag|>f.call(a="x"); <|python_tag|> and code)",
     kLlama3Tokens, "", make_llama3, &kLlama3Frame},
    {"pythonic", "Llama 3.2 and 4 where they are told so", "", R"([f(a="x", b=1), g()])",
     kLlama4Tokens, "", make_pythonic, &kPythonicFrame},
    {"llama4", "Llama 4", "", R"({"name": …, "parameters": {…}})", kLlama4Tokens, "", make_llama4,
     &kLlama4Frame},
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
constexpr Words kCommand = {"<|START_ACTION|>"};
constexpr Words kApertus = {"<|tools_prefix|>"};
constexpr Words kSeed = {"<seed:tool_call>"};
constexpr Words kGlm = {"<tool_call>", "<arg_key>"};
constexpr Words kGlm4 = {"<|observation|>", "可用工具"};
constexpr Words kMiniCpm3 = {"<|thought_start|>", "<|tool_call_start|>"};
constexpr Words kNemotron = {"<TOOLCALL>"};
constexpr Words kMinitron = {"<toolcall>"};
constexpr Words kInternLm = {"<|plugin|>"};
constexpr Words kHunyuan = {"<tool_calls>"};
constexpr Words kErnie = {"<tool_call>", "<response>"};
constexpr Words kPythonic = {"func_name1("};
constexpr Words kLlama4 = {"<|header_start|>", "\"parameters\""};
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
    {kHarmony, "gpt-oss"},   {kGemma4, "gemma4"},     {kDeepSeek, "deepseek"},
    {kMistral, "mistral"},   {kMagistral, "mistral"}, {kCommand, "command"},
    {kApertus, "apertus"},   {kSeed, "seed"},         {kGlm, "glm"},
    {kGlm4, "glm4"},         {kMiniCpm3, "minicpm3"}, {kLfm2, "lfm2"},
    {kLfm2Tools, "lfm2"},    {kQwenXml, "qwen-xml"},  {kOlmo3, "olmo3"},
    {kGranite, "granite"},   {kNemotron, "nemotron"}, {kMinitron, "nemotron"},
    {kInternLm, "internlm"}, {kHunyuan, "hunyuan"},   {kErnie, "ernie"},
    {kHermes, "hermes"},     {kPhi4, "phi4"},         {kFunctools, "phi4"},
    {kPythonic, "pythonic"}, {kLlama3, "llama3"},     {kLlama4, "llama4"},
    {kThink, "think"},       {kThinkEnd, "think"},
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
