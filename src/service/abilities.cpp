#include "service/abilities.h"

#include <string>

namespace puna::service {

void set_thinking(base::Json& variables, Think think) {
  if (think == Think::kDefault) return;
  const bool on = think != Think::kOff;
  variables.set("enable_thinking", on).set("thinking", on);
  if (think == Think::kLow) variables.set("reasoning_effort", "low");
  if (think == Think::kMedium) variables.set("reasoning_effort", "medium");
  if (think == Think::kHigh) variables.set("reasoning_effort", "high");
}

Abilities find_abilities(const chat::Template& chat_template) {
  const auto rendered = [&](Think think, bool with_tools) {
    base::Json extra = base::Json::object();
    extra.set("bos_token", "<s>").set("eos_token", "</s>");
    if (with_tools) {
      base::Json city = base::Json::object().set("type", "string").set("description", "A city");
      base::Json parameters = base::Json::object();
      parameters.set("type", "object")
          .set("properties", base::Json::object().set("city", std::move(city)))
          .set("required", base::Json::array().push("city"));
      base::Json function = base::Json::object();
      function.set("name", "weather")
          .set("description", "The weather of a city")
          .set("parameters", std::move(parameters));
      base::Json tool = base::Json::object();
      tool.set("type", "function").set("function", std::move(function));
      extra.set("tools", base::Json::array().push(std::move(tool)));
    }
    set_thinking(extra, think);
    // A template that refuses even this can do nothing of it.
    return chat::render_chat(chat_template, {{"user", "Hello", {}}}, true, extra).value_or("");
  };
  const std::string plain = rendered(Think::kDefault, false);
  return {.tools = rendered(Think::kDefault, true) != plain,
          .thinking = rendered(Think::kOn, false) != rendered(Think::kOff, false),
          .thinking_levels = rendered(Think::kLow, false) != rendered(Think::kHigh, false)};
}

}  // namespace puna::service
