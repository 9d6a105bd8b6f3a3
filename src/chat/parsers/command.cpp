// Cohere's Command R7B and Command A: <|START_THINKING|>...<|END_THINKING|>, a JSON list of calls
// between <|START_ACTION|> and <|END_ACTION|>, and answers between marks too. The ids of calls
// begin anew in every reply, so they are passed over.
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

constexpr std::string_view kCalls[] = {
    "{\"tool_call_id\": \"@index\", \"tool_name\": \"@name\", \"parameters\": @arguments}",
    "{\"tool_name\": \"@name\", \"parameters\": @arguments}"};
constexpr CallSection kSections[] = {{.open = "<|START_ACTION|>[\n",
                                      .close = "\n]<|END_ACTION|>",
                                      .calls = kCalls,
                                      .between = ",\n",
                                      .several = true}};

}  // namespace

const CallFrame kCommandFrame{.sections = kSections, .trigger = R"(<\|START_ACTION\|>)"};

std::unique_ptr<ReplyParser> make_command(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<|START_THINKING|>",
      .think_close = "<|END_THINKING|>",
      .openers = {"<|START_ACTION|>"},
      .skipped = {"<|END_ACTION|>"},
      .answers = {{"<|START_RESPONSE|>", "<|END_RESPONSE|>"}, {"<|START_TEXT|>", "<|END_TEXT|>"}},
      .make_reader = [](const CallContext&) -> std::unique_ptr<CallReader> {
        return make_json_list_reader("tool_name");
      }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
