#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace puna::base {

// Builds a Json from the library's events, so that depth is bounded and nothing is held twice.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonBuilder(std::string_view text, int max_depth, bool strict)
      : text_(text), max_depth_(max_depth), strict_(strict) {}

  bool null() override { return put(Json()); }
  bool boolean(bool v) override { return put(Json(v)); }
  bool number_integer(number_integer_t v) override { return put(Json(int64_t{v})); }
  bool number_unsigned(number_unsigned_t v) override { return put(Json(uint64_t{v})); }
  bool number_float(number_float_t v, const string_t&) override { return put(Json(v)); }
  bool string(string_t& v) override { return put(Json(std::move(v))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& v) override {
    keys_.back() = std::move(v);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return malformed_at(std::min(position == 0 ? 0 : position - 1, text_.size()));
  }

  // False, as whoever is told of an error answers.
  bool malformed_at(size_t end) {
    const std::string_view before = text_.substr(0, end);
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t last = before.rfind('\n');
    const size_t column = 1 + (last == std::string_view::npos ? end : end - last - 1);
    error_ = fmt::format("The JSON text is malformed at line {}, column {}.", line, column);
    return false;
  }

  Json take() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  bool put(Json v) {
    if (open_.empty()) {
      root_ = std::move(v);
    } else if (open_.back().is_array()) {
      open_.back().push(std::move(v));
    } else {
      members(open_.back()).emplace_back(std::move(keys_.back()), std::move(v));
    }
    return true;
  }
  bool open(Json v) {
    if (static_cast<int>(open_.size()) >= max_depth_) {
      error_ = fmt::format("The JSON text nests deeper than {} levels.", max_depth_);
      return false;
    }
    open_.push_back(std::move(v));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json v = std::move(open_.back());
    if (v.is_object() && !drop_repeated(members(v))) return false;
    open_.pop_back();
    keys_.pop_back();
    return put(std::move(v));
  }

  static Json::Object& members(Json& object) { return std::get<Json::Object>(object.value_); }

  // Of members with the same key the last value stays, in the place of the first. Vocabularies are
  // objects of 260,000 members, so keys are sorted, not searched for one by one. False: strictly
  // there may be none.
  bool drop_repeated(Json::Object& members) {
    if (members.size() < 2) return true;
    std::vector<size_t> order(members.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int keys = members[a].first.compare(members[b].first);
      return keys != 0 ? keys < 0 : a < b;
    });
    std::vector<size_t> repeated;
    for (size_t i = 1, first = 0; i < order.size(); ++i) {
      if (members[order[i]].first != members[order[first]].first) {
        first = i;
        continue;
      }
      members[order[first]].second = std::move(members[order[i]].second);
      repeated.push_back(order[i]);
    }
    if (repeated.empty()) return true;
    if (strict_) {
      error_ = fmt::format("The JSON text has the key \"{}\" twice in an object.",
                           members[repeated.front()].first);
      return false;
    }
    std::sort(repeated.begin(), repeated.end());
    size_t index = 0;
    std::erase_if(members, [&](const Json::Member&) {
      return std::binary_search(repeated.begin(), repeated.end(), index++);
    });
    return true;
  }

  std::string_view text_;
  int max_depth_;
  bool strict_;
  Json root_;
  std::vector<Json> open_;
  std::vector<std::string> keys_;
  std::string error_;
};

namespace {

void write(const Json& v, int indent, int depth, std::string& out) {
  const auto newline = [&](int d) {
    if (indent > 0) {
      out += '\n';
      out.append(static_cast<size_t>(indent) * static_cast<size_t>(d), ' ');
    }
  };
  if (v.is_array() || v.is_object()) {
    const bool object = v.is_object();
    const size_t n = object ? v.members().size() : v.items().size();
    out += object ? '{' : '[';
    for (size_t i = 0; i < n; ++i) {
      if (i > 0) out += ",";
      newline(depth + 1);
      if (object) {
        write(Json(v.members()[i].first), 0, 0, out);
        out += indent > 0 ? ": " : ":";
        write(v.members()[i].second, indent, depth + 1, out);
      } else {
        write(v.items()[i], indent, depth + 1, out);
      }
    }
    if (n > 0) newline(depth);
    out += object ? '}' : ']';
  } else if (v.is_string()) {
    out +=
        nlohmann::json(v.string()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } else if (v.is_integer()) {
    out += std::to_string(v.integer());
  } else if (v.is_number()) {
    out += std::isfinite(v.number()) ? nlohmann::json(v.number()).dump() : "null";
  } else if (v.is_bool()) {
    out += v.boolean() ? "true" : "false";
  } else {
    out += "null";
  }
}

std::unexpected<Error> wrong_member(const Json& object, std::string_view key, const char* wanted) {
  const Json* found = object.find(key);
  return fail(ErrorCode::kInvalidArgument,
              found ? fmt::format("The member \"{}\" is of type {}, but {} is expected.", key,
                                  found->type_name(), wanted)
                    : fmt::format("The member \"{}\" is missing ({} is expected).", key, wanted));
}

}  // namespace

Json::Value Json::from_unsigned(uint64_t v) {
  if (v <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return static_cast<int64_t>(v);
  return static_cast<double>(v);
}

namespace {

Result<Json> parse_with(JsonBuilder builder, std::string_view text) {
  // A NUL is nowhere in JSON, but the library takes it for the end of the text.
  const size_t nul = text.find('\0');
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder) ||
      (nul != std::string_view::npos && !builder.malformed_at(nul))) {
    return fail(ErrorCode::kCorrupt, builder.error());
  }
  return builder.take();
}

}  // namespace

Result<Json> Json::parse(std::string_view text, int max_depth) {
  return parse_with({text, max_depth, /*strict=*/false}, text);
}

Result<Json> Json::parse_strictly(std::string_view text, int max_depth) {
  return parse_with({text, max_depth, /*strict=*/true}, text);
}

std::string Json::dump(int indent) const {
  std::string out;
  write(*this, indent, 0, out);
  return out;
}

const char* Json::type_name() const {
  constexpr const char* kNames[] = {"null",   "boolean", "integer", "number",
                                    "string", "array",   "object"};
  return kNames[value_.index()];
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Member& member : members()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

Result<int64_t> Json::get_integer(std::string_view key) const {
  const Json* v = find(key);
  if (!v || !v->is_integer()) return wrong_member(*this, key, "an integer");
  return v->integer();
}

Result<double> Json::get_number(std::string_view key) const {
  const Json* v = find(key);
  if (!v || !v->is_number()) return wrong_member(*this, key, "a number");
  return v->number();
}

Result<std::string> Json::get_string(std::string_view key) const {
  const Json* v = find(key);
  if (!v || !v->is_string()) return wrong_member(*this, key, "a string");
  return v->string();
}

Result<bool> Json::get_bool(std::string_view key) const {
  const Json* v = find(key);
  if (!v || !v->is_bool()) return wrong_member(*this, key, "true or false");
  return v->boolean();
}

Json& Json::set(std::string key, Json value) {
  Json* const known = find(key);
  if (!known) return add(std::move(key), std::move(value));
  *known = std::move(value);
  return *this;
}

Json& Json::add(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

}  // namespace puna::base
