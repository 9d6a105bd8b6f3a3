// The families of parsers, one file each. Read next: section_parser.h; parsers.cpp picks one.
#pragma once

#include <memory>

#include "chat/call_frame.h"
#include "chat/parsers/section_parser.h"

namespace puna::chat {

using MakeParser = std::unique_ptr<ReplyParser> (*)(const ParserOptions&);

extern const CallFrame kHermesFrame, kQwenXmlFrame, kLlama3Frame, kMistralFrame, kGraniteFrame,
    kPhi4Frame, kDeepSeekFrame, kLfm2Frame, kOlmo3Frame, kGemma4Frame, kGptOssFrame, kSeedFrame,
    kGlmFrame, kGlm4Frame, kHunyuanFrame, kApertusFrame, kCommandFrame, kNemotronFrame,
    kInternLmFrame, kLlama4Frame, kMiniCpm3Frame, kPythonicFrame;

std::unique_ptr<ReplyParser> make_plain(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_think(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_hermes(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_qwen_xml(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_llama3(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_mistral(const ParserOptions& options);
// Of a JSON list of calls, or one alone, and nothing behind it.
std::unique_ptr<CallReader> make_json_list_reader(std::string_view name_key = "name");
std::unique_ptr<ReplyParser> make_granite(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_phi4(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_deepseek(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_lfm2(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_olmo3(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_gemma4(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_gpt_oss(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_seed(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_glm(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_glm4(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_hunyuan(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_apertus(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_command(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_nemotron(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_internlm(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_llama4(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_minicpm3(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_pythonic(const ParserOptions& options);
std::unique_ptr<ReplyParser> make_ernie(const ParserOptions& options);

}  // namespace puna::chat
