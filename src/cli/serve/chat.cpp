// Templates of chats, and thinking.
#include <fmt/format.h>

#include <array>

#include "api/answer_fields.h"
#include "api/openai/chat_request.h"
#include "base/json.h"
#include "chat/built_in.h"
#include "cli/serve/table.h"
#include "cli/template_file.h"
#include "service/thinking_budget.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Defaults;
using service::Think;

constexpr std::pair<std::string_view, Think> kEfforts[] = {
    {"default", Think::kDefault}, {"none", Think::kOff},      {"minimal", Think::kLow},
    {"low", Think::kLow},         {"medium", Think::kMedium}, {"high", Think::kHigh},
    {"xhigh", Think::kHigh},      {"max", Think::kHigh}};

std::unexpected<base::Error> wrong_template(std::string_view option, std::string_view value,
                                            const base::Error& error) {
  return base::fail(ErrorCode::kUsage,
                    fmt::format("{} is \"{}\": {}", option, value, error.text()));
}

// A name, or the template itself.
Result<void> read_named(ServeFlags& flags, std::string_view option, std::string_view value) {
  const auto* const built_in = chat::find_built_in(value);
  if (!built_in && !value.contains("{{") && !value.contains("{%")) {
    std::vector<std::string> names;
    for (const chat::BuiltInTemplate& each : chat::built_in_templates())
      names.emplace_back(each.name);
    return not_one_of(option, value, names);
  }
  const std::string_view source = built_in ? built_in->source : value;
  auto parsed = chat::Template::parse(std::string(source));
  if (!parsed) return wrong_template(option, value, parsed.error());
  flags.chat_template = parsed->source();
  return {};
}

Result<void> read_file(ServeFlags& flags, std::string_view option, std::string_view value) {
  auto parsed = read_template(std::string(value));
  const ErrorCode code = parsed ? ErrorCode::kUsage : parsed.error().code;
  if (code == ErrorCode::kNotFound || code == ErrorCode::kIo)
    return std::unexpected(std::move(parsed.error()));
  if (!parsed) return wrong_template(option, value, parsed.error());
  flags.chat_template = parsed->source();
  return {};
}

void add_variables(Defaults& defaults, const Json& variables) {
  Json& all = defaults.request.variables;
  if (!all.is_object()) all = Json::object();
  for (const auto& [name, value] : variables.members()) all.set(name, value);
}

Result<void> read_variables(ServeFlags& flags, std::string_view option, std::string_view value) {
  const auto json = Json::parse_strictly(value);
  if (!json || !json->is_object()) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{} is \"{}\", but an object of JSON is expected.", option, value));
  }
  Json variables = Json::object();
  for (const auto& [name, set] : json->members()) {
    if (name == "enable_thinking" && set.is_bool()) {
      flags.think = set.boolean() ? Think::kOn : Think::kOff;
    } else {
      variables.set(name, set);
    }
  }
  flags.defaults.emplace_back(
      [variables](Defaults& defaults) { add_variables(defaults, variables); });
  return {};
}

void set_reasoning(ServeFlags& flags, std::string_view value) {
  flags.think.reset();
  if (value != "auto") flags.think = value == "on" ? Think::kOn : Think::kOff;
}

void set_effort(ServeFlags& flags, std::string_view value) {
  for (const auto& [name, think] : kEfforts) {
    if (name == value) flags.effort = think;
  }
}

Result<void> read_message(ServeFlags& flags, std::string_view option, std::string_view value) {
  if (value.size() > service::kMaxThinkingMessage) {
    return base::fail(ErrorCode::kUsage, fmt::format("{} has {} bytes; {} are the most.", option,
                                                     value.size(), service::kMaxThinkingMessage));
  }
  flags.defaults.emplace_back([text = std::string(value)](Defaults& defaults) {
    defaults.request.thinking_message = text;
  });
  return {};
}

// By the names that templates have for it: Qwen's, and GLM's for the opposite.
void set_preserved(ServeFlags& flags, bool on) {
  const Json variables = Json::object().set("preserve_thinking", on).set("clear_thinking", !on);
  flags.defaults.emplace_back(
      [variables](Defaults& defaults) { add_variables(defaults, variables); });
}

std::vector<Flag> chat_rows() {
  std::vector<Flag> out;
  out.push_back(with(
      value("--chat-template", "TEXT",
            "In place of the model's template: a name (chatml, llama3, gemma, ...; a wrong one "
            "lists them), or a template (Jinja)",
            read_named),
      "LLAMA_ARG_CHAT_TEMPLATE"));
  out.push_back(with(value("--chat-template-file", "PATH",
                           "The same from a file, which comes before the above", read_file),
                     "LLAMA_ARG_CHAT_TEMPLATE_FILE"));
  out.push_back(
      with(value("--chat-template-kwargs", "JSON",
                 "Variables of the template where a request does not set them", read_variables),
           "LLAMA_ARG_CHAT_TEMPLATE_KWARGS"));
  out.push_back(on_off("--keep-nonces",
                       "What agents change in their first lines with each request stays as it is",
                       [](ServeFlags& flags, bool on) {
                         flags.defaults.emplace_back(
                             [on](Defaults& defaults) { defaults.request.keep_nonces = on; });
                       }));
  out.push_back(with(on_off("--prefill-assistant,!--no-prefill-assistant",
                            "A last message of the assistant is continued; the default",
                            [](ServeFlags& flags, bool on) {
                              flags.defaults.emplace_back(
                                  [on](Defaults& defaults) { defaults.continues_last = on; });
                            }),
                     "LLAMA_ARG_PREFILL_ASSISTANT"));
  out.push_back(with(choice("--reasoning", {"on", "off", "auto"},
                            "Whether models think that have a switch for it: on, off or auto; "
                            "default: auto, as the model's template has it",
                            set_reasoning),
                     "LLAMA_ARG_REASONING", "-rea"));
  std::vector<std::string> efforts;
  for (const auto& each : kEfforts) efforts.emplace_back(each.first);
  out.push_back(with(choice("--reasoning-effort", std::move(efforts),
                            "How much models think that have levels of it: default, none, "
                            "minimal, low, medium, high, xhigh or max",
                            set_effort),
                     "LLAMA_ARG_REASONING_EFFORT"));
  out.push_back(
      with(choice("--reasoning-format", {"auto", "none", "deepseek", "deepseek-legacy"},
                  "Where thinking goes: auto and deepseek = apart from the answer, none = in its "
                  "text, between marks, deepseek-legacy = both",
                  [](ServeFlags& flags, std::string_view value) {
                    const service::Thinking thinking = *api::openai::thinking_format(value);
                    flags.defaults.emplace_back(
                        [thinking](Defaults& defaults) { defaults.request.thinking = thinking; });
                  }),
           "LLAMA_ARG_THINK"));
  out.push_back(
      with(number<int64_t>("--reasoning-budget", {-1, UINT32_MAX},
                           "Tokens of thinking at most, behind which it is ended; 0 = none, -1, "
                           "the default: no limit",
                           [](ServeFlags& flags, int64_t n) {
                             flags.defaults.emplace_back([n](Defaults& defaults) {
                               defaults.request.max_thinking = api::number_or_none(n);
                             });
                           }),
           "LLAMA_ARG_THINK_BUDGET"));
  out.push_back(with(value("--reasoning-budget-message", "TEXT",
                           "What is written where thinking is ended", read_message),
                     "LLAMA_ARG_THINK_BUDGET_MESSAGE"));
  out.push_back(
      with(on_off("--reasoning-preserve,!--no-reasoning-preserve",
                  "The thinking of all earlier answers is read again, or of none but the last, by "
                  "templates with a switch for it; default: as the template has it",
                  set_preserved),
           "LLAMA_ARG_REASONING_PRESERVE"));
  out.push_back(with(on_off("--skip-chat-parsing,!--no-skip-chat-parsing",
                            "Answers of chats come as they were written, thinking and calls too",
                            [](ServeFlags& flags, bool on) {
                              flags.defaults.emplace_back(
                                  [on](Defaults& defaults) { defaults.request.verbatim = on; });
                            }),
                     "LLAMA_ARG_SKIP_CHAT_PARSING"));
  return out;
}

}  // namespace

std::span<const Flag> chat_flags() {
  static const std::vector<Flag> kRows = chat_rows();
  return kRows;
}

}  // namespace puna::cli::serve
