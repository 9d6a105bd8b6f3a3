#include "chat/jinja/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "chat/jinja/filters.h"
#include "chat/jinja/tests.h"
#include "chat/jinja/text.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {

using base::ErrorCode;
using base::Result;

namespace {

constexpr int64_t kMaxRange = 100'000;  // as in Jinja's sandbox

Result<Value> range(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"start", "stop", "step"}));
  PUNA_TRY(int64_t first, integer_or(given[0], 0, "the start of a range"));
  PUNA_TRY(int64_t last, integer_or(given[1], 0, "the stop of a range"));
  PUNA_TRY(const int64_t step, integer_or(given[2], 1, "the step of a range"));
  if (!given[0]) return refuse("range() wants its stop");
  if (!given[1]) last = std::exchange(first, 0);
  if (step == 0) return refuse("the step of a range is 0");
  std::vector<Value> items;
  while (step > 0 ? first < last : first > last) {
    if (static_cast<int64_t>(items.size()) == kMaxRange)
      return refuse(fmt::format("a range has more than {} items", kMaxRange));
    items.emplace_back(first);
    if (__builtin_add_overflow(first, step, &first)) break;
  }
  PUNA_TRY(evaluator.spend(items.size()));
  return Value::list(std::move(items));
}

// The entries that dict() and namespace() take: those of one dict, then the named arguments.
Result<std::vector<std::pair<Value, Value>>> entries_of(std::string_view function,
                                                        const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> entries;
  if (arguments.positional.size() > 1 ||
      (arguments.positional.size() == 1 && !arguments.positional[0].is_dict())) {
    return refuse(fmt::format("{}() takes one dict and named arguments", function));
  }
  if (!arguments.positional.empty()) entries = arguments.positional[0].dict().entries;
  for (const auto& [name, value] : arguments.named) {
    const auto same = std::ranges::find(entries, Value(name), &std::pair<Value, Value>::first);
    if (same != entries.end()) {
      same->second = value;
    } else {
      entries.emplace_back(name, value);
    }
  }
  return entries;
}

Result<Value> make_namespace(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto entries, entries_of("namespace", arguments));
  PUNA_TRY(evaluator.spend(entries.size() + 4));
  std::vector<std::pair<std::string, Value>> members;
  for (const auto& [key, value] : entries) {
    if (!key.is_string()) return refuse("the members of a namespace have names");
    members.emplace_back(key.string(), value);
  }
  return evaluator.make_namespace(std::move(members));
}

Result<Value> make_dict(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(auto entries, entries_of("dict", arguments));
  PUNA_TRY(evaluator.spend(entries.size()));
  return Value::dict(std::move(entries));
}

Result<Value> raise_exception(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"message"}));
  std::string what = "without a reason";
  if (given[0]) {
    PUNA_TRY(what, text_of(evaluator, *given[0]));
    if (what.ends_with('.')) what.pop_back();  // the located message brings its own
  }
  return refuse(fmt::format("the template refuses the conversation: {}", what));
}

Result<Value> strftime_now(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"format"}));
  PUNA_TRY(const std::string format, string_or(given[0], "", "the format of strftime_now"));
  const auto now = static_cast<std::time_t>(evaluator.now_s());
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[256];
  // A zero is an empty text or one beyond the buffer; a mark at the end tells them apart.
  const size_t n = std::strftime(buffer, sizeof buffer, (format + "|").c_str(), &local);
  if (n == 0) return refuse("the format of strftime_now gives more than 255 bytes");
  return Value(std::string(buffer, n - 1));
}

Result<Value> loop_cycle(LoopData& loop, const Arguments& arguments) {
  if (arguments.positional.empty()) return refuse("loop.cycle() wants values");
  return arguments.positional[loop.index % arguments.positional.size()];
}

Value loop_attribute(const Value& self, std::string_view name) {
  LoopData& loop = self.loop();
  const auto index = static_cast<int64_t>(loop.index);
  const auto length = static_cast<int64_t>(loop.items->items.size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return length - index;
  if (name == "revindex0") return length - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index == length - 1;
  if (name == "length") return length;
  if (name == "depth") return loop.depth + 1;
  if (name == "depth0") return loop.depth;
  if (name == "previtem")
    return index == 0 ? Value::undefined("there is no previous item")
                      : loop.items->items[loop.index - 1];
  if (name == "nextitem")
    return index == length - 1 ? Value::undefined("there is no next item")
                               : loop.items->items[loop.index + 1];
  if (name == "cycle") {
    return CallableData{.name = "cycle", .call = [self](Evaluator&, const Arguments& arguments) {
                          return loop_cycle(self.loop(), arguments);
                        }};
  }
  if (name == "changed") {
    return CallableData{
        .name = "changed", .call = [self](Evaluator&, const Arguments& arguments) -> Result<Value> {
          LoopData& data = self.loop();
          const bool changed = !data.changed_before || data.last_changed != arguments.positional;
          data.changed_before = true;
          data.last_changed = arguments.positional;
          return Value(changed);
        }};
  }
  return Value::undefined(fmt::format("\"loop\" has no attribute \"{}\"", name));
}

Value missing(const Value& value, std::string_view name) {
  return Value::undefined(
      fmt::format("a value of type {} has no attribute \"{}\"", value.type_name(), name));
}

// An index into `length` items, counted from the end when negative; -1 when there is none.
int64_t resolved(int64_t index, int64_t length) {
  if (index < 0) index += length;
  return index >= 0 && index < length ? index : -1;
}

}  // namespace

std::unexpected<base::Error> refuse(std::string what) {
  return base::fail(ErrorCode::kInvalidArgument, std::move(what));
}

Result<std::vector<const Value*>> bind(const Arguments& arguments,
                                       std::initializer_list<std::string_view> parameters) {
  if (arguments.positional.size() > parameters.size()) {
    return refuse(fmt::format("at most {} arguments are taken, but {} are given", parameters.size(),
                              arguments.positional.size()));
  }
  std::vector<const Value*> bound(parameters.size(), nullptr);
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(parameters, std::string_view(name));
    if (found == parameters.end()) return refuse(fmt::format("there is no parameter \"{}\"", name));
    const Value*& slot = bound[static_cast<size_t>(found - parameters.begin())];
    if (slot) return refuse(fmt::format("the parameter \"{}\" is given twice", name));
    slot = &value;
  }
  return bound;
}

Result<int64_t> integer_or(const Value* value, int64_t fallback, std::string_view what) {
  if (!value) return fallback;
  if (!value->is_integer() && !value->is_bool()) {
    return refuse(
        fmt::format("{} is of type {}, but an int is expected", what, value->type_name()));
  }
  return value->integer();
}

Result<std::string> string_or(const Value* value, std::string_view fallback,
                              std::string_view what) {
  if (!value) return std::string(fallback);
  if (!value->is_string()) {
    return refuse(fmt::format("{} is of type {}, but a str is expected", what, value->type_name()));
  }
  return value->string();
}

Result<std::string> text_of(Evaluator& evaluator, const Value& value) {
  PUNA_TRY(evaluator.spend(value.weight()));
  return to_text(value);
}

Result<std::shared_ptr<const ListData>> items_of(Evaluator& evaluator, const Value& value) {
  if (value.is_list()) return value.list_data();
  std::vector<Value> items;
  if (value.is_string()) {
    PUNA_TRY(evaluator.spend(value.string().size() * 4));
    for (const std::string_view piece : split_code_points(value.string()))
      items.emplace_back(piece);
  } else if (value.is_dict()) {
    PUNA_TRY(evaluator.spend(value.dict().entries.size()));
    for (const auto& [key, item] : value.dict().entries) items.push_back(key);
  } else if (!value.is_undefined()) {
    return refuse(fmt::format("a value of type {} cannot be iterated over", value.type_name()));
  }
  PUNA_TRY(const Value list, Value::list(std::move(items)));
  return list.list_data();
}

Value find_global(std::string_view name) {
  struct Global {
    std::string_view name;
    Result<Value> (*call)(Evaluator&, const Arguments&);
  };
  static constexpr Global kGlobals[] = {
      {"dict", make_dict}, {"namespace", make_namespace},  {"raise_exception", raise_exception},
      {"range", range},    {"strftime_now", strftime_now},
  };
  for (const Global& global : kGlobals) {
    if (global.name == name) return CallableData{.name = std::string(name), .call = global.call};
  }
  return {};
}

Result<Value> get_attribute(const Value& value, const std::string& name) {
  if (value.is_undefined()) return refuse(value.undefined_what());
  if (value.is_loop()) return loop_attribute(value, name);
  if (value.is_namespace()) {
    const Value* member = value.name_space().find(name);
    return member ? *member : missing(value, name);
  }
  if (value.is_group() && name == "grouper") return value.items()[0];
  if (value.is_group() && name == "list") return value.items()[1];
  if (Value method = find_method(value, name); !method.is_undefined()) return method;
  if (value.is_dict()) {
    if (const Value* item = value.dict().find(Value(name))) return *item;
  }
  return missing(value, name);
}

Result<Value> get_item(const Value& value, const Value& key) {
  if (value.is_undefined()) return refuse(value.undefined_what());
  if (value.is_dict()) {
    if (const Value* item = value.dict().find(key)) return *item;
  }
  if (key.is_integer() || key.is_bool()) {
    if (value.is_list()) {
      const int64_t index = resolved(key.integer(), static_cast<int64_t>(value.items().size()));
      if (index >= 0) return value.items()[static_cast<size_t>(index)];
    } else if (value.is_string()) {
      const auto pieces = split_code_points(value.string());
      const int64_t index = resolved(key.integer(), static_cast<int64_t>(pieces.size()));
      if (index >= 0) return Value(pieces[static_cast<size_t>(index)]);
    }
  }
  if (key.is_string() && !value.is_dict()) return get_attribute(value, key.string());
  if (key.is_string()) {
    if (Value method = find_method(value, key.string()); !method.is_undefined()) return method;
  }
  return missing(value, key.weight() < 100 ? to_text(key) : "...");
}

Result<Value> get_slice(Evaluator& evaluator, const Value& value, const Value& first,
                        const Value& last, const Value& step) {
  if (value.is_undefined()) return refuse(value.undefined_what());
  if (value.is_dict()) return refuse("a dict has no slices");
  if (!value.is_list() && !value.is_string()) return missing(value, "a slice");
  const auto bound = [](const Value& given) { return given.is_none() ? nullptr : &given; };
  PUNA_TRY(const int64_t stride, integer_or(bound(step), 1, "the step of a slice"));
  if (stride == 0) return refuse("the step of a slice is 0");
  PUNA_TRY(evaluator.spend(value.is_string() ? value.string().size() : value.items().size()));
  std::vector<std::string_view> pieces;
  if (value.is_string()) pieces = split_code_points(value.string());
  const auto length =
      static_cast<int64_t>(value.is_string() ? pieces.size() : value.items().size());
  // Both ends are clamped to the items, or to one before the first when walking backwards.
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? length : length - 1;
  const auto clamp = [&](int64_t index) {
    return std::clamp(index < 0 ? index + length : index, low, high);
  };
  PUNA_TRY(int64_t from, integer_or(bound(first), 0, "the start of a slice"));
  PUNA_TRY(int64_t to, integer_or(bound(last), 0, "the end of a slice"));
  from = first.is_none() ? (stride > 0 ? 0 : length - 1) : clamp(from);
  to = last.is_none() ? (stride > 0 ? length : -1) : clamp(to);

  std::string text;
  std::vector<Value> items;
  const int64_t jump = std::clamp(stride, -length - 1, length + 1);
  for (int64_t i = from; stride > 0 ? i < to : i > to; i += jump) {
    const auto at = static_cast<size_t>(i);
    if (value.is_string()) {
      text += pieces[at];
    } else {
      items.push_back(value.items()[at]);
    }
  }
  if (value.is_string()) return Value(std::move(text));
  return Value::list(std::move(items),
                     value.is_tuple() ? ListData::Form::kTuple : ListData::Form::kList);
}

Result<Value> apply_filter(Evaluator& evaluator, const std::string& name, const Value& input,
                           const Arguments& arguments) {
  const Filter* filter = find_filter(name);
  if (!filter)
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("the filter \"{}\" is not supported", name));
  PUNA_TRY(evaluator.spend(1));
  return filter->apply(evaluator, input, arguments);
}

Result<bool> apply_test(Evaluator& evaluator, const std::string& name, const Value& input,
                        const Arguments& arguments) {
  const Test* test = find_test(name);
  if (!test)
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("the test \"{}\" is not supported", name));
  PUNA_TRY(evaluator.spend(1));
  return test->apply(evaluator, input, arguments);
}

}  // namespace puna::chat::jinja
