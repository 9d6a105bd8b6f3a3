#include "grammar/cursor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "grammar/expression.h"

namespace puna::grammar {

base::Result<void> Cursor::check_text() const {
  if (text_.size() > limits_.text_bytes)
    return over_limit(fmt::format("The bytes of the {} are", what_), limits_.text_bytes,
                      "text_bytes");
  for (size_t at = 0; at < text_.size();) {
    const base::Utf8Unit unit = base::utf8_next(text_, at);
    if (unit.code_point == base::kInvalidCodePoint)
      return error_at(text_, at, fmt::format("The {} is not valid UTF-8.", what_));
    at += unit.bytes;
  }
  return {};
}

std::optional<uint64_t> Cursor::number() {
  const size_t from = at_;
  uint64_t value = 0;
  while (more() && text_[at_] >= '0' && text_[at_] <= '9')
    value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(text_[at_++] - '0'), kUnbounded);
  if (at_ == from) return {};
  return value;
}

}  // namespace puna::grammar
