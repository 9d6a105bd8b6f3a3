// A value while a template runs: what Python would hold there. Values are immutable and shared, so
// copies are cheap; only a namespace changes. Read next: evaluator.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::chat::jinja {

class Evaluator;
class Value;
struct Arguments;

// Lists and dicts nest no deeper, so that what walks them may recurse, and weigh no more (see
// Value::weight).
inline constexpr int kMaxValueDepth = 120;
inline constexpr uint64_t kMaxValueWeight = uint64_t{1} << 26;

struct StringData {
  std::string text;
  // What escape() and safe give: escapes the text that is added to it, and is not escaped itself.
  bool markup = false;
};

// Whatever has items in an order. Only lists and tuples are whole; the other forms can be walked.
struct ListData {
  enum class Form {
    kList,
    kTuple,   // shown as (a, b)
    kGroup,   // a tuple of groupby(), whose parts are also .grouper and .list
    kLazy,    // what Python computes when asked, such as map(): true even when it gives nothing
    kRange,   // of range()
    kKeys,    // of dict.keys()
    kValues,  // of dict.values()
    kItems,   // of dict.items()
  };
  struct Range {
    int64_t first = 0, last = 0, step = 1;
  };
  std::vector<Value> items;
  Form form = Form::kList;
  Range range{};               // kRange: what it was made of
  int depth = 1;               // 1 + the depth of the deepest item
  uint64_t weight = 1;         // with all items
  mutable size_t n_taken = 0;  // kLazy: as many items were walked already, and are gone
};

struct DictData {
  std::vector<std::pair<Value, Value>> entries;  // in order; keys are unique
  int depth = 1;
  uint64_t weight = 1;

  const Value* find(const Value& key) const;
};

// namespace(...): the one thing that a template can change after it is made.
struct NamespaceData {
  std::vector<std::pair<std::string, Value>> members;

  Value* find(std::string_view name);
};

// The variable `loop`.
struct LoopData {
  std::shared_ptr<const ListData> items;
  size_t index = 0;                 // from 0
  std::vector<Value> last_changed;  // of loop.changed(...)
  bool changed_before = false;
  int depth = 0;  // how many loops of the same statement are around this one
  // loop(items) of a recursive loop: what its body writes for them. Empty for other loops.
  std::function<base::Result<Value>(Evaluator&, const Arguments&)> again;
};

// A function, or a thing with functions, such as a cycler.
struct CallableData {
  std::string name;
  std::string_view type = "function";  // Python's name of it, for messages
  bool locates_errors = false;         // its errors say line and column already
  std::function<base::Result<Value>(Evaluator&, const Arguments&)> call;  // empty: not to be called
  std::function<Value(std::string_view name)> attribute{};                // empty: it has none
};

class Value {
 public:
  struct Undefined {
    std::shared_ptr<const std::string> what;  // how it was asked for, for messages
  };
  struct None {};

  Value() = default;  // undefined
  Value(None) : data_(None{}) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(int64_t{v}) {}
  Value(int64_t v) : data_(v) {}
  Value(double v) : data_(v) {}
  Value(const char* v) : Value(std::string(v)) {}
  Value(std::string_view v) : Value(std::string(v)) {}
  Value(std::string v) : data_(std::make_shared<const StringData>(StringData{std::move(v)})) {}
  Value(std::shared_ptr<NamespaceData> v) : data_(std::move(v)) {}
  Value(std::shared_ptr<LoopData> v) : data_(std::move(v)) {}
  Value(CallableData v) : data_(std::make_shared<const CallableData>(std::move(v))) {}

  static Value undefined(std::string what);
  static Value markup(std::string text);
  // Errors: kUnsupported when it would nest deeper than kMaxValueDepth or weigh more than
  // kMaxValueWeight.
  static base::Result<Value> list(std::vector<Value> items,
                                  ListData::Form form = ListData::Form::kList);
  static base::Result<Value> range(ListData::Range range);  // of few items, see range()
  static base::Result<Value> dict(std::vector<std::pair<Value, Value>> entries);
  static base::Result<Value> from_json(const base::Json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_number() const {
    return is_bool() || is_integer() || is_float();
  }  // as in Python, a bool is one
  bool is_string() const { return std::holds_alternative<StringPtr>(data_); }
  bool is_markup() const { return is_string() && std::get<StringPtr>(data_)->markup; }
  bool is_list() const { return std::holds_alternative<ListPtr>(data_); }  // of any form
  bool is_dict() const { return std::holds_alternative<DictPtr>(data_); }
  bool is_namespace() const {
    return std::holds_alternative<std::shared_ptr<NamespaceData>>(data_);
  }
  bool is_loop() const { return std::holds_alternative<std::shared_ptr<LoopData>>(data_); }
  bool is_callable() const { return is_object() && callable().call; }
  bool is_object() const { return std::holds_alternative<CallablePtr>(data_); }
  const char* type_name() const;  // Python's, for messages

  // Unchecked reads: the caller has asked is_...() before.
  const std::string& string() const { return std::get<StringPtr>(data_)->text; }
  bool boolean() const { return std::get<bool>(data_); }
  int64_t integer() const { return is_bool() ? int64_t{boolean()} : std::get<int64_t>(data_); }
  double number() const {
    return is_float() ? std::get<double>(data_) : static_cast<double>(integer());
  }
  const std::vector<Value>& items() const { return std::get<ListPtr>(data_)->items; }
  bool has_form(ListData::Form form) const { return is_list() && list_data()->form == form; }
  bool is_tuple() const { return has_form(ListData::Form::kTuple) || is_group(); }
  bool is_group() const { return has_form(ListData::Form::kGroup); }
  bool is_lazy() const { return has_form(ListData::Form::kLazy); }
  bool is_range() const { return has_form(ListData::Form::kRange); }
  bool is_whole() const { return is_tuple() || has_form(ListData::Form::kList); }  // list or tuple
  bool has_indices() const { return is_whole() || is_range(); }
  const std::shared_ptr<const ListData>& list_data() const { return std::get<ListPtr>(data_); }
  const DictData& dict() const { return *std::get<DictPtr>(data_); }
  NamespaceData& name_space() const { return *std::get<std::shared_ptr<NamespaceData>>(data_); }
  LoopData& loop() const { return *std::get<std::shared_ptr<LoopData>>(data_); }
  const CallableData& callable() const { return *std::get<CallablePtr>(data_); }
  std::string undefined_what() const;

  bool truthy() const;
  bool is_hashable() const;  // may be a key of a dict
  int depth() const;         // 0 for what does not nest
  // About what it costs to walk all of it: 1 a value, and 1 for 8 bytes of text. A part that is
  // used twice counts twice, so a small value cannot unfold into an endless text; dicts add the
  // square of their size for comparisons.
  uint64_t weight() const;
  // Python's ==: numbers by value, lists and dicts by content, functions and namespaces by
  // identity.
  bool operator==(const Value& other) const;

 private:
  using StringPtr = std::shared_ptr<const StringData>;
  using ListPtr = std::shared_ptr<const ListData>;
  using DictPtr = std::shared_ptr<const DictData>;
  using CallablePtr = std::shared_ptr<const CallableData>;

  std::variant<Undefined, None, bool, int64_t, double, StringPtr, ListPtr, DictPtr,
               std::shared_ptr<NamespaceData>, std::shared_ptr<LoopData>, CallablePtr>
      data_;
};

// What a call passes.
struct Arguments {
  std::vector<Value> positional{};
  std::vector<std::pair<std::string, Value>> named{};
};

}  // namespace puna::chat::jinja
