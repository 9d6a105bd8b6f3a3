// A chat template: the text that a model's file carries, in Jinja as Hugging Face's transformers
// sets it up (trim_blocks, lstrip_blocks, break and continue, tojson, raise_exception,
// strftime_now). Not all of Jinja: what is not known is refused, with line and column, when the
// template is parsed. Read next: messages.h, jinja/evaluator.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace puna::chat {

// What one rendering may use. A step is about one operation, or 8 bytes of text made; the size of
// the context adds to the steps. The defaults are far above what a chat needs and take about a
// second to exhaust.
struct Limits {
  uint64_t max_steps = 20'000'000;
  size_t max_output_bytes = size_t{64} << 20;
  int max_depth =
      200;  // of nested expressions, blocks and macro calls; each costs 1 to 2 KiB of stack
  int64_t now_s = -1;  // Unix time that strftime_now tells, in local time; -1: the clock's
};

class Template {
 public:
  // Errors: kInvalidArgument for malformed source, kUnsupported for what Puna's Jinja does not
  // know.
  static base::Result<Template> parse(std::string source);

  // Renders with the members of `context` as variables. Errors: kInvalidArgument when an operation
  // fails or the template calls raise_exception, kUnsupported when a limit is reached; both with
  // line and column.
  base::Result<std::string> render(const base::Json& context, const Limits& limits = {}) const;

  const std::string& source() const;

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

 private:
  struct Parsed;
  explicit Template(std::unique_ptr<const Parsed> parsed);
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace puna::chat
