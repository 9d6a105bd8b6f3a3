#include "chat/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::chat::jinja {
namespace {

using base::Result;

// Depth and weight of a container, from those of its parts.
class Measure {
 public:
  void add(const Value& part) {
    depth_ = std::max(depth_, part.depth() + 1);
    weight_ +=
        part.weight();  // each part is at most 2^26, so 2^38 parts would be needed to overflow
  }
  void add_weight(uint64_t weight) { weight_ += weight; }
  int depth() const { return depth_; }
  uint64_t weight() const { return weight_; }
  Result<void> check() const {
    if (depth_ > kMaxValueDepth) {
      return base::fail(base::ErrorCode::kUnsupported,
                        fmt::format("a value nests deeper than {} levels", kMaxValueDepth));
    }
    if (weight_ > kMaxValueWeight)
      return base::fail(base::ErrorCode::kUnsupported, "a value grows too large");
    return {};
  }

 private:
  int depth_ = 1;
  uint64_t weight_ = 1;
};

}  // namespace

const Value* DictData::find(const Value& key) const {
  for (const auto& [own, value] : entries) {
    if (own == key) return &value;
  }
  return nullptr;
}

Value* NamespaceData::find(std::string_view name) {
  for (auto& [own, value] : members) {
    if (own == name) return &value;
  }
  return nullptr;
}

Value Value::undefined(std::string what) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(what))};
  return value;
}

Result<Value> Value::list(std::vector<Value> items, ListData::Form form) {
  Measure measure;
  for (const Value& item : items) measure.add(item);
  PUNA_TRY(measure.check());
  Value value;
  value.data_ = std::make_shared<const ListData>(
      ListData{std::move(items), form, measure.depth(), measure.weight()});
  return value;
}

Result<Value> Value::dict(std::vector<std::pair<Value, Value>> entries) {
  Measure measure;
  for (const auto& [key, item] : entries) {
    measure.add(key);
    measure.add(item);
  }
  measure.add_weight(entries.size() * entries.size() / 16);
  PUNA_TRY(measure.check());
  Value value;
  value.data_ = std::make_shared<const DictData>(
      DictData{std::move(entries), measure.depth(), measure.weight()});
  return value;
}

namespace {

Result<Value> convert(const base::Json& json, int depth) {
  if (depth > kMaxValueDepth) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("The context nests deeper than {} levels.", kMaxValueDepth));
  }
  if (json.is_bool()) return Value(json.boolean());
  if (json.is_integer()) return Value(json.integer());
  if (json.is_number()) return Value(json.number());
  if (json.is_string()) return Value(json.string());
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.items().size());
    for (const base::Json& item : json.items()) {
      PUNA_TRY(Value value, convert(item, depth + 1));
      items.push_back(std::move(value));
    }
    return Value::list(std::move(items));
  }
  if (json.is_object()) {
    std::vector<std::pair<Value, Value>> entries;
    entries.reserve(json.members().size());
    for (const auto& [key, item] : json.members()) {
      PUNA_TRY(Value value, convert(item, depth + 1));
      entries.emplace_back(key, std::move(value));
    }
    return Value::dict(std::move(entries));
  }
  return Value(Value::None{});
}

}  // namespace

Result<Value> Value::from_json(const base::Json& json) { return convert(json, 0); }

const char* Value::type_name() const {
  static constexpr const char* kNames[] = {"undefined", "NoneType",    "bool",    "int",
                                           "float",     "str",         "list",    "dict",
                                           "namespace", "LoopContext", "function"};
  return is_tuple() ? "tuple" : kNames[data_.index()];
}

std::string Value::undefined_what() const {
  const auto& what = std::get<Undefined>(data_).what;
  return what ? *what : "the value is undefined";
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_bool()) return boolean();
  if (is_integer()) return integer() != 0;
  if (is_float()) return number() != 0;
  if (is_string()) return !string().empty();
  if (is_list()) return !items().empty() || list_data()->form == ListData::Form::kLazy;
  if (is_dict()) return !dict().entries.empty();
  return true;
}

int Value::depth() const { return is_list() ? list_data()->depth : is_dict() ? dict().depth : 0; }

uint64_t Value::weight() const {
  if (is_string()) return 1 + string().size() / 8;
  return is_list() ? list_data()->weight : is_dict() ? dict().weight : 1;
}

bool Value::operator==(const Value& other) const {
  if (is_number() && other.is_number()) {
    if (is_float() || other.is_float()) return number() == other.number();
    return integer() == other.integer();
  }
  if (data_.index() != other.data_.index()) return false;
  if (is_undefined() || is_none()) return true;
  if (is_string()) return string() == other.string();
  if (is_list())
    return list_data() == other.list_data() ||
           (is_tuple() == other.is_tuple() && items() == other.items());
  if (is_dict()) {
    if (&dict() == &other.dict()) return true;
    return dict().entries.size() == other.dict().entries.size() &&
           std::ranges::all_of(dict().entries, [&](const auto& entry) {
             const Value* match = other.dict().find(entry.first);
             return match && *match == entry.second;
           });
  }
  if (is_namespace()) return &name_space() == &other.name_space();
  if (is_loop()) return &loop() == &other.loop();
  return &callable() == &other.callable();
}

}  // namespace puna::chat::jinja
