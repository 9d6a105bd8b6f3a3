// <tool_call><function=name><parameter=key>value</parameter>...</function></tool_call>:
// Qwen3-Coder, Qwen3.5 and Nemotron 3. Seed-OSS writes the same between <seed:tool_call> marks,
// with values that have no line of their own, and thinks between <seed:think> marks.
#include "chat/parsers/families.h"
#include "chat/parsers/tagged.h"

namespace puna::chat {
namespace {

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameterEnd = "</parameter>";

constexpr ArgumentTags kQwenTags{
    .before_name = "<parameter=", .behind_name = ">", .behind_value = kParameterEnd, .lines = true};
constexpr ArgumentTags kSeedTags{
    .before_name = "<parameter=", .behind_name = ">", .behind_value = kParameterEnd};

constexpr TaggedSyntax kQwenBare{
    .before_name = kFunction, .behind_name = ">", .tags = kQwenTags, .close = kFunctionEnd};
constexpr TaggedSyntax kQwen{.before_name = kFunction,
                             .behind_name = ">",
                             .tags = kQwenTags,
                             .close = kFunctionEnd,
                             .end = "</tool_call>"};
constexpr TaggedSyntax kSeed{.before_name = kFunction,
                             .behind_name = ">",
                             .tags = kSeedTags,
                             .close = kFunctionEnd,
                             .end = "</seed:tool_call>"};

constexpr std::string_view kTagged[] = {
    "<tool_call>\n<function=@name>\n@arguments\n</function>\n</tool_call>"};
constexpr std::string_view kBare[] = {"<function=@name>\n@arguments\n</function>"};
constexpr CallSection kSections[] = {{.calls = kTagged, .between = "\n", .several = true},
                                     {.calls = kBare, .between = "\n", .several = true}};
constexpr std::string_view kEnds[] = {kParameterEnd, kFunctionEnd, "</tool_call>"};

constexpr std::string_view kSeedCalls[] = {
    "<seed:tool_call>\n<function=@name>\n@arguments\n</function>\n</seed:tool_call>"};
constexpr CallSection kSeedSections[] = {{.calls = kSeedCalls, .between = "\n", .several = true}};
constexpr std::string_view kSeedEnds[] = {kParameterEnd, kFunctionEnd, "</seed:tool_call>"};

}  // namespace

const CallFrame kQwenXmlFrame{.arguments = CallFrame::Arguments::kTags,
                              .tags = kQwenTags,
                              .sections = kSections,
                              .trigger = "<tool_call>|<function=",
                              .ends = kEnds};
const CallFrame kSeedFrame{.arguments = CallFrame::Arguments::kTags,
                           .tags = kSeedTags,
                           .sections = kSeedSections,
                           .trigger = "<seed:tool_call>",
                           .ends = kSeedEnds};

std::unique_ptr<ReplyParser> make_qwen_xml(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<think>",
      .think_close = "</think>",
      .openers = {"<tool_call>", kFunction},
      .skipped = {"</tool_call>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        const bool bare = context.opener == kFunction;
        return make_tagged_reader(bare ? kQwenBare : kQwen, bare, context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_seed(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<seed:think>",
      .think_close = "</seed:think>",
      .openers = {"<seed:tool_call>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return make_tagged_reader(kSeed, /*name_open=*/false, context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
