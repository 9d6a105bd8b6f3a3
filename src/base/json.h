// A JSON value with checked getters. Parsing never throws and is bounded in depth; numbers keep
// integers apart from reals. The one place that knows the JSON library is json.cpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace puna::base {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order written; keys are unique

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool v) : value_(v) {}
  template <std::signed_integral T>
  Json(T v) : value_(int64_t{v}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T v) : value_(from_unsigned(v)) {}  // above 2^63-1 it becomes a real
  Json(double v) : value_(v) {}
  Json(const char* v) : value_(std::string(v)) {}
  Json(std::string_view v) : value_(std::string(v)) {}
  Json(std::string v) : value_(std::move(v)) {}
  Json(Array v) : value_(std::move(v)) {}
  Json(Object v) : value_(std::move(v)) {}

  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  // Errors: kCorrupt with line and column when the text is not one JSON document or nests deeper
  // than max_depth.
  static Result<Json> parse(std::string_view text, int max_depth = 100);
  // The same for what strangers send: a key that is repeated in an object is an error too. Without
  // this the last value stays.
  static Result<Json> parse_strictly(std::string_view text, int max_depth = 100);
  // One line when indent is 0. Invalid UTF-8 is written as U+FFFD; NaN and infinities as null.
  std::string dump(int indent = 0) const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  const char* type_name()
      const;  // "null", "boolean", "integer", "number", "string", "array", "object"

  // Unchecked reads: the caller has asked is_...() before.
  bool boolean() const { return std::get<bool>(value_); }
  int64_t integer() const { return std::get<int64_t>(value_); }
  double number() const {
    return is_integer() ? static_cast<double>(integer()) : std::get<double>(value_);
  }
  const std::string& string() const { return std::get<std::string>(value_); }
  std::string& string() { return std::get<std::string>(value_); }
  const Array& items() const { return std::get<Array>(value_); }
  const Object& members() const { return std::get<Object>(value_); }

  // The member `key` of an object, or nullptr (also when this is no object).
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // Checked reads of a required member. Errors: kInvalidArgument naming the key and what stands
  // there instead.
  Result<int64_t> get_integer(std::string_view key) const;
  Result<double> get_number(std::string_view key) const;
  Result<std::string> get_string(std::string_view key) const;
  Result<bool> get_bool(std::string_view key) const;

  // Building. set() replaces an existing member, which it looks for among all; add() is for a key
  // that is known to be new, as where an object is copied. A null value becomes an object (set,
  // add) or array (push) first.
  Json& set(std::string key, Json value);
  Json& add(std::string key, Json value);
  Json& push(Json value);

  bool operator==(const Json&) const = default;

 private:
  friend class JsonBuilder;
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object>;
  static Value from_unsigned(uint64_t v);

  Value value_;
};

}  // namespace puna::base
