#include "chat/template.h"

#include <fmt/format.h>

#include <ctime>

#include "chat/jinja/evaluator.h"
#include "chat/jinja/parser.h"

namespace puna::chat {

using base::Result;

struct Template::Parsed {
  std::string source;
  jinja::Block block;
};

Template::Template(std::unique_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

const std::string& Template::source() const { return parsed_->source; }

Result<Template> Template::parse(std::string source) {
  PUNA_TRY_CONTEXT(jinja::Block block, jinja::parse(source), "While parsing the chat template");
  return Template(std::make_unique<const Parsed>(Parsed{std::move(source), std::move(block)}));
}

Result<std::string> Template::render(const base::Json& context, const Limits& limits) const {
  if (!context.is_object()) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("The context of a chat template is of type {}, but an object is expected.",
                    context.type_name()));
  }
  PUNA_TRY(const jinja::Value variables, jinja::Value::from_json(context));
  const jinja::Budget budget{
      .steps = limits.max_steps + 16 * variables.weight(),
      .output_bytes = limits.max_output_bytes,
      .depth = limits.max_depth,
      .now_s = limits.now_s >= 0 ? limits.now_s : static_cast<int64_t>(std::time(nullptr))};
  jinja::Evaluator evaluator(variables, budget);
  PUNA_TRY_CONTEXT(std::string text, evaluator.render(parsed_->block),
                   "While rendering the chat template");
  return text;
}

}  // namespace puna::chat
