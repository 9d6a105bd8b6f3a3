#include "chat/jinja/builtins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/tests.h"
#include "chat/jinja/text.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {

using base::ErrorCode;
using base::Result;

namespace {

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
  if (is_change(value, name)) {
    return Value::undefined(
        fmt::format("\"{}\" would change a {}, which a template may not", name, value.type_name()));
  }
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
  std::vector<std::string_view> names;
  size_t n_unnamed = 0;  // how many are given by their place only
  for (const std::string_view parameter : parameters) {
    if (parameter == "/") {
      n_unnamed = names.size();
    } else {
      names.push_back(parameter);
    }
  }
  if (arguments.positional.size() > names.size()) {
    return refuse(fmt::format("at most {} arguments are taken, but {} are given", names.size(),
                              arguments.positional.size()));
  }
  std::vector<const Value*> bound(names.size(), nullptr);
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  const auto plain = [](std::string_view parameter) {
    return parameter.substr(0, parameter.size() - (parameter.ends_with('=') ? 1 : 0));
  };
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(names.begin() + static_cast<ptrdiff_t>(n_unnamed),
                                         names.end(), std::string_view(name), plain);
    if (found == names.end()) return refuse(fmt::format("there is no parameter \"{}\"", name));
    const Value*& slot = bound[static_cast<size_t>(found - names.begin())];
    if (slot) return refuse(fmt::format("the parameter \"{}\" is given twice", name));
    slot = &value;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!bound[i] && !names[i].ends_with('='))
      return refuse(fmt::format("the parameter \"{}\" is missing", names[i]));
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

Result<Value> string_of(Evaluator& evaluator, const Value& value) {
  if (value.is_string()) return value;
  PUNA_TRY(std::string text, text_of(evaluator, value));
  return Value(std::move(text));
}

Result<Value> text_like(Evaluator& evaluator, const Value& self, std::string text) {
  PUNA_TRY(evaluator.spend(text.size() / 8));
  return self.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
}

std::string escaped_text(const Value& value) {
  return value.is_markup() ? value.string() : html_escaped(to_text(value));
}

Result<std::shared_ptr<const ListData>> items_of(Evaluator& evaluator, const Value& value) {
  if (value.is_lazy() && value.list_data()->n_taken > 0) {  // what was walked already is gone
    const ListData& list = *value.list_data();
    const auto left = list.items.begin() + static_cast<ptrdiff_t>(list.n_taken);
    PUNA_TRY(const Value rest, Value::list({left, list.items.end()}));
    list.n_taken = list.items.size();
    return rest.list_data();
  }
  if (value.is_list()) {
    value.list_data()->n_taken = value.items().size();
    return value.list_data();
  }
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

namespace {
// The parts of a number that Python has as attributes.
Value number_attribute(const Value& value, std::string_view name) {
  const bool whole = !value.is_float();
  if (name == "real") return whole ? Value(value.integer()) : value;
  if (name == "imag") return whole ? Value(0) : Value(0.0);
  if (whole && name == "numerator") return value.integer();
  if (whole && name == "denominator") return 1;
  return {};
}
}  // namespace

Result<Value> get_attribute(const Value& value, const std::string& name) {
  if (value.is_undefined()) return refuse(value.undefined_what());
  if (value.is_loop()) return loop_attribute(value, name);
  if (value.is_namespace()) {
    const Value* member = value.name_space().find(name);
    return member ? *member : missing(value, name);
  }
  if (value.is_group() && name == "grouper") return value.items()[0];
  if (value.is_group() && name == "list") return value.items()[1];
  if (value.is_object()) {
    Value own = value.callable().attribute ? value.callable().attribute(name) : Value();
    return own.is_undefined() ? missing(value, name) : own;
  }
  if (Value method = find_method(value, name); !method.is_undefined()) return method;
  if (value.is_number()) {
    if (Value part = number_attribute(value, name); !part.is_undefined()) return part;
  }
  if (value.is_dict() && !is_change(value, name)) {
    if (const Value* item = value.dict().find(Value(name))) return *item;
  }
  return missing(value, name);
}

Result<Value> call_method(Evaluator& evaluator, const Value& self, std::string_view name,
                          const Arguments& arguments) {
  const Value method = find_method(self, name);
  PUNA_CHECK(method.is_callable());
  return method.callable().call(evaluator, arguments);
}

Result<Value> get_item(const Value& value, const Value& key) {
  if (value.is_undefined()) return refuse(value.undefined_what());
  if (value.is_dict()) {
    if (const Value* item = value.dict().find(key)) return *item;
  }
  if (key.is_integer() || key.is_bool()) {
    if (value.has_indices()) {
      const int64_t index = resolved(key.integer(), static_cast<int64_t>(value.items().size()));
      if (index >= 0) return value.items()[static_cast<size_t>(index)];
    } else if (value.is_string()) {
      const auto pieces = split_code_points(value.string());
      const int64_t index = resolved(key.integer(), static_cast<int64_t>(pieces.size()));
      if (index >= 0) {
        std::string piece(pieces[static_cast<size_t>(index)]);
        return value.is_markup() ? Value::markup(std::move(piece)) : Value(std::move(piece));
      }
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
  if (!value.has_indices() && !value.is_string())
    return refuse(fmt::format("a value of type {} has no slices", value.type_name()));
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
  if (value.is_string()) return text_like(evaluator, value, std::move(text));
  if (value.is_range()) {
    const ListData::Range& all = value.list_data()->range;
    const auto at = [&](int64_t i) { return all.first + i * all.step; };
    if (items.empty()) return Value::range({.first = at(from), .last = at(from), .step = all.step});
    return Value::range({.first = at(from), .last = at(to), .step = all.step * jump});
  }
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
