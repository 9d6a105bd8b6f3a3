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

Value Value::markup(std::string text) {
  Value value;
  value.data_ = std::make_shared<const StringData>(StringData{std::move(text), /*markup=*/true});
  return value;
}

Result<Value> Value::list(std::vector<Value> items, ListData::Form form) {
  Measure measure;
  for (const Value& item : items) measure.add(item);
  PUNA_TRY(measure.check());
  Value value;
  value.data_ = std::make_shared<const ListData>(ListData{.items = std::move(items),
                                                          .form = form,
                                                          .depth = measure.depth(),
                                                          .weight = measure.weight()});
  return value;
}

Result<Value> Value::range(ListData::Range range) {
  std::vector<Value> items;
  for (int64_t at = range.first; range.step > 0 ? at < range.last : at > range.last;) {
    items.emplace_back(at);
    if (__builtin_add_overflow(at, range.step, &at)) break;
  }
  const uint64_t weight = 1 + items.size();
  Value value;
  value.data_ = std::make_shared<const ListData>(ListData{
      .items = std::move(items), .form = ListData::Form::kRange, .range = range, .weight = weight});
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
  // In the order of ListData::Form.
  static constexpr const char* kForms[] = {"list",  "tuple",     "tuple",       "generator",
                                           "range", "dict_keys", "dict_values", "dict_items"};
  if (is_list()) return kForms[static_cast<size_t>(list_data()->form)];
  if (is_object()) return callable().type.data();
  return is_markup() ? "Markup" : kNames[data_.index()];
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
  if (is_list()) return !items().empty() || is_lazy();
  if (is_dict()) return !dict().entries.empty();
  return true;
}

bool Value::is_hashable() const {
  using Form = ListData::Form;
  if (is_tuple()) return std::ranges::all_of(items(), &Value::is_hashable);
  return !is_dict() && !has_form(Form::kList) && !has_form(Form::kKeys) && !has_form(Form::kItems);
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
  if (is_list()) {
    if (list_data() == other.list_data()) return true;
    const bool comparable = is_lazy() || has_form(ListData::Form::kValues) ? false
                            : is_tuple()                                   ? other.is_tuple()
                                         : list_data()->form == other.list_data()->form;
    return comparable && items() == other.items();
  }
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
