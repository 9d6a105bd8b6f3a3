// Templates of chats, and thinking.
#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "cli/serve/table.h"
#include "cli/template_file.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Defaults;
using service::Think;

// Templates that a model may be given by name.
struct BuiltIn {
  std::string_view name, source;
};
constexpr BuiltIn kBuiltIn[] = {
    {"chatml",
     "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
     "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
     "}}{% endif %}"},
};

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
  std::string_view source;
  std::vector<std::string> names;
  for (const BuiltIn& each : kBuiltIn) {
    names.emplace_back(each.name);
    if (each.name == value) source = each.source;
  }
  if (value.contains("{{") || value.contains("{%")) source = value;
  if (source.empty()) return not_one_of(option, value, names);
  auto parsed = chat::Template::parse(std::string(source));
  if (!parsed) return wrong_template(option, value, parsed.error());
  flags.chat_template = *std::move(parsed);
  return {};
}

Result<void> read_file(ServeFlags& flags, std::string_view option, std::string_view value) {
  auto parsed = read_template(std::string(value));
  if (!parsed) return wrong_template(option, value, parsed.error());
  flags.chat_template = *std::move(parsed);
  return {};
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
      [variables](Defaults& defaults) { defaults.request.variables = variables; });
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

std::vector<Flag> rows() {
  std::vector<Flag> out;
  out.push_back(
      with(value("--chat-template", "TEXT",
                 "In place of the model's template: chatml, or a template (Jinja)", read_named),
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
  out.push_back(with(choice("--reasoning-format", {"auto", "deepseek"},
                            "auto and deepseek: thinking comes apart from the answer",
                            [](ServeFlags&, std::string_view) {}),
                     "LLAMA_ARG_THINK"));
  out.push_back(with(number<int>("--reasoning-budget", {-1, 0},
                                 "Tokens of thinking: -1, the default: no limit, 0 = none",
                                 [](ServeFlags& flags, int n) {
                                   if (n == 0) flags.think = Think::kOff;
                                 }),
                     "LLAMA_ARG_THINK_BUDGET"));
  return out;
}

}  // namespace

std::span<const Flag> chat_flags() {
  static const std::vector<Flag> kRows = rows();
  return kRows;
}

}  // namespace puna::cli::serve
