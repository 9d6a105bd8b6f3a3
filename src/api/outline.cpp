#include "api/outline.h"

#include <algorithm>
#include <string>
#include <utility>

namespace puna::api {

using base::Json;
using base::Result;

namespace {

constexpr std::string_view kSpace = " \t\r\n";
// As deep as Json parses.
constexpr size_t kDeepest = 100;

class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }
  bool at_end() const { return at_ == text_.size(); }
  bool take(char c) {
    skip_space();
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // A string with its quotes; empty: there is none.
  std::string_view take_string() {
    skip_space();
    const size_t begin = at_;
    if (!take('"')) return {};
    while (!at_end()) {
      const char c = text_[at_++];
      if (c == '"') return text_.substr(begin, at_ - begin);
      if (c == '\\' && !at_end()) ++at_;
    }
    return {};
  }
  // Whatever value there is, without a look inside; empty: there is none.
  std::string_view take_value() {
    skip_space();
    const size_t begin = at_;
    std::string open;
    while (!at_end()) {
      const char c = text_[at_];
      if (c == '"') {
        if (take_string().empty()) return {};
      } else if (c == '{' || c == '[') {
        if (open.size() == kDeepest) return {};
        open += c == '{' ? '}' : ']';
        ++at_;
        continue;
      } else if (c == '}' || c == ']') {
        if (open.empty()) break;  // of what is around it
        if (open.back() != c) return {};
        open.pop_back();
        ++at_;
      } else if (open.empty()) {
        at_ = std::min(text_.find_first_of(" \t\r\n,}]\"{[", at_), text_.size());
      } else {
        ++at_;
        continue;
      }
      if (open.empty()) break;
    }
    return open.empty() ? text_.substr(begin, at_ - begin) : std::string_view();
  }

 private:
  const std::string_view text_;
  size_t at_ = 0;
};

std::unexpected<base::Error> malformed() {
  return base::fail(base::ErrorCode::kCorrupt, "The request's body is no JSON document.");
}

}  // namespace

Result<Json> outline(std::string_view text, std::span<const std::string_view> names, size_t most) {
  Walk walk(text);
  if (!walk.take('{')) {
    PUNA_TRY(Json::parse_strictly(text));
    return Json();
  }
  Json out = Json::object();
  bool more = !walk.take('}');
  while (more) {
    const std::string_view key = walk.take_string();
    if (key.empty() || !walk.take(':')) return malformed();
    const std::string_view value = walk.take_value();
    if (value.empty()) return malformed();
    PUNA_TRY(const Json name, Json::parse(key.size() <= most ? key : "\"\""));
    if (std::ranges::find(names, name.string()) != names.end()) {
      Json member(true);
      if (value.size() <= most) {
        PUNA_TRY(member, Json::parse_strictly(value));
      }
      out.set(name.string(), std::move(member));
    }
    more = walk.take(',');
    if (!more && !walk.take('}')) return malformed();
  }
  walk.skip_space();
  if (!walk.at_end()) return malformed();
  return out;
}

}  // namespace puna::api
