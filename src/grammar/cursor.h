// Inside grammar/: a text that the parser of a front end reads from its beginning on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "grammar/limits.h"

namespace puna::grammar {

class Cursor {
 protected:
  // what: of the text, as "grammar". The limits have to stay.
  Cursor(std::string_view text, std::string_view what, const Limits& limits)
      : text_(text), what_(what), limits_(limits) {}

  // Errors: kInvalidArgument for a text that is too long or no UTF-8.
  base::Result<void> check_text() const;

  bool more() const { return at_ < text_.size(); }
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool eat(std::string_view what) {
    if (!sees(what)) return false;
    at_ += what.size();
    return true;
  }
  // Digits up to what is none; those above kUnbounded are kUnbounded. Nothing where there is none.
  std::optional<uint64_t> number();
  std::unexpected<base::Error> fail(std::string_view what) const {
    return error_at(text_, at_, what);
  }

  std::string_view text_;
  std::string_view what_;
  const Limits& limits_;
  size_t at_ = 0;
};

}  // namespace puna::grammar
