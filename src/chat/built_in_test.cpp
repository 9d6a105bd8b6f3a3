// Each template makes of one conversation what its family documents.
#include "chat/built_in.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "chat/messages.h"

using namespace puna::chat;

namespace {

const std::vector<Message> kTalk = {{.role = "system", .content = "S"},
                                    {.role = "user", .content = "Q"},
                                    {.role = "assistant", .content = "A"},
                                    {.role = "user", .content = "R"}};

std::string rendered(const BuiltInTemplate& built_in, const std::vector<Message>& messages,
                     bool to_be_answered = true) {
  const auto parsed = Template::parse(std::string(built_in.source));
  REQUIRE_MESSAGE(parsed.has_value(), built_in.name << ": " << parsed.error().text());
  puna::base::Json marks = puna::base::Json::object();
  marks.set("bos_token", "<s>").set("eos_token", "</s>");
  const auto text = render_chat(*parsed, messages, to_be_answered, marks);
  REQUIRE_MESSAGE(text.has_value(), built_in.name << ": " << text.error().text());
  return *text;
}

struct Expected {
  std::string_view name, text;
};
constexpr Expected kExpected[] = {
    {"chatml",
     "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
     "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nR<|im_end|>\n<|im_start|>assistant\n"},
    {"command-r",
     "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>S<|END_OF_TURN_TOKEN|>"
     "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Q<|END_OF_TURN_TOKEN|>"
     "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>A<|END_OF_TURN_TOKEN|>"
     "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>R<|END_OF_TURN_TOKEN|>"
     "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
    {"deepseek",
     "S### Instruction:\nQ\n### Response:\nA\n<|EOT|>\n### Instruction:\nR\n### Response:\n"},
    {"deepseek2", "S\n\nUser: Q\n\nAssistant: A<｜end▁of▁sentence｜>User: R\n\nAssistant:"},
    {"deepseek3",
     "S\n\n<｜User｜>Q<｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>R<｜Assistant｜>"},
    {"gemma",
     "<start_of_turn>user\nS\n\nQ<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
     "<start_of_turn>user\nR<end_of_turn>\n<start_of_turn>model\n"},
    {"granite",
     "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n"
     "<|start_of_role|>user<|end_of_role|>Q<|end_of_text|>\n"
     "<|start_of_role|>assistant<|end_of_role|>A<|end_of_text|>\n"
     "<|start_of_role|>user<|end_of_role|>R<|end_of_text|>\n"
     "<|start_of_role|>assistant<|end_of_role|>"},
    {"llama2", "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nQ [/INST] A </s><s>[INST] R [/INST]"},
    {"llama3",
     "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nQ<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nR<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"mistral-v1", "<s> [INST] S\n\nQ [/INST] A</s> [INST] R [/INST]"},
    {"mistral-v3", "<s>[INST] S\n\nQ[/INST] A</s>[INST] R[/INST]"},
    {"mistral-v3-tekken", "<s>[INST]S\n\nQ[/INST]A</s>[INST]R[/INST]"},
    {"mistral-v7", "<s>[SYSTEM_PROMPT] S[/SYSTEM_PROMPT][INST] Q[/INST] A</s>[INST] R[/INST]"},
    {"mistral-v7-tekken", "<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]Q[/INST]A</s>[INST]R[/INST]"},
    {"openchat",
     "S<|end_of_turn|>GPT4 Correct User: Q<|end_of_turn|>GPT4 Correct Assistant: "
     "A<|end_of_turn|>GPT4 Correct User: R<|end_of_turn|>GPT4 Correct Assistant:"},
    {"phi3",
     "<|system|>\nS<|end|>\n<|user|>\nQ<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nR<|end|>\n"
     "<|assistant|>\n"},
    {"phi4",
     "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>Q<|im_end|>"
     "<|im_start|>assistant<|im_sep|>A<|im_end|><|im_start|>user<|im_sep|>R<|im_end|>"
     "<|im_start|>assistant<|im_sep|>"},
    {"rwkv-world", "S\n\nUser: Q\n\nAssistant: A\n\nUser: R\n\nAssistant:"},
    {"vicuna", "S USER: Q ASSISTANT: A</s>USER: R ASSISTANT:"},
    {"zephyr",
     "<|system|>\nS</s>\n<|user|>\nQ</s>\n<|assistant|>\nA</s>\n<|user|>\nR</s>\n"
     "<|assistant|>\n"},
};

}  // namespace

TEST_CASE("a conversation is written as each family documents it") {
  std::set<std::string_view> names;
  for (const Expected& each : kExpected) {
    CAPTURE(each.name);
    const BuiltInTemplate* built_in = find_built_in(each.name);
    REQUIRE(built_in != nullptr);
    CHECK(rendered(*built_in, kTalk) == each.text);
    names.insert(each.name);
  }
  CHECK(names.size() == built_in_templates().size());
  CHECK(find_built_in("nonsense") == nullptr);
}

TEST_CASE("a question alone is the end of the whole, and an answer may be the last") {
  for (const BuiltInTemplate& each : built_in_templates()) {
    CAPTURE(each.name);
    const std::string whole = rendered(each, kTalk), alone = rendered(each, {kTalk.back()});
    const size_t question = alone.find('R');
    REQUIRE(question != std::string::npos);
    CHECK(whole.ends_with(alone.substr(question)));
    const std::vector<Message> answered(kTalk.begin(), kTalk.begin() + 3);
    const std::string text = rendered(each, answered, /*to_be_answered=*/false);
    CHECK(whole.starts_with(text));
  }
}
