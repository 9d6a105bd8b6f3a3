// Filters over lists, dicts and whatever else has items.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::Result;
using Form = ListData::Form;
using Items = std::vector<Value>;

// A path such as "function.name" or "0", followed from an item; where a part of it is undefined,
// `fallback` stands for it, unless that is null. No path (None) is the item itself.
Result<Value> follow(const Value& item, const Value* path, const Value* fallback = nullptr) {
  if (!path || path->is_none()) return item;
  if (!path->is_string()) {
    PUNA_TRY(Value found, get_item(item, *path));
    return found.is_undefined() && fallback ? *fallback : found;
  }
  Value now = item;
  std::string_view left = path->string();
  while (true) {
    const size_t dot = left.find('.');
    const std::string_view part = left.substr(0, dot);
    int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = error == std::errc() && end == part.data() + part.size() && !part.empty();
    // Jinja looks an attribute up as an item first: a key goes before a method of the same name.
    PUNA_TRY(now, get_item(now, is_index ? Value(index) : Value(part)));
    if (now.is_undefined() && fallback) now = *fallback;
    if (dot == std::string_view::npos) return now;
    left.remove_prefix(dot + 1);
  }
}

Result<Value> case_blind(Evaluator& evaluator, Value value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  return evaluator.text(to_lower(value.string()));
}

// What sorting and uniqueness look at: the item or its attribute, lower case unless the case
// matters.
Result<Items> keys_of(Evaluator& evaluator, const Items& items, const Value* attribute,
                      bool case_sensitive, const Value* fallback = nullptr) {
  Items keys;
  for (const Value& item : items) {
    PUNA_TRY(evaluator.spend(1));
    PUNA_TRY(Value key, follow(item, attribute, fallback));
    PUNA_TRY(key, case_blind(evaluator, std::move(key), case_sensitive));
    keys.push_back(std::move(key));
  }
  return keys;
}

// The keys of sort(attribute="a,b"): lists of the attributes, so that equal ones need no order.
Result<Items> sort_keys_of(Evaluator& evaluator, const Items& items, const Value* attribute,
                           bool case_sensitive) {
  std::vector<Value> paths;
  if (attribute && attribute->is_string()) {
    for (size_t at = 0; at != std::string::npos;) {
      const size_t comma = attribute->string().find(',', at);
      paths.emplace_back(attribute->string().substr(at, comma - at));
      at = comma == std::string::npos ? comma : comma + 1;
    }
  } else {
    paths.push_back(attribute ? *attribute : Value(Value::None{}));
  }
  Items keys;
  for (const Value& item : items) {
    PUNA_TRY(evaluator.spend(1 + paths.size()));
    Items parts;
    for (const Value& path : paths) {
      PUNA_TRY(Value part, follow(item, &path));
      PUNA_TRY(part, case_blind(evaluator, std::move(part), case_sensitive));
      parts.push_back(std::move(part));
    }
    PUNA_TRY(Value key, Value::list(std::move(parts)));
    keys.push_back(std::move(key));
  }
  return keys;
}

// The order of items by their keys; stable. A merge sort: it hands errors on, and what Python calls
// an order (with NaN in it, say) cannot lead it astray as it could std::sort.
Result<std::vector<size_t>> sorted_order(Evaluator& evaluator, const Items& keys, bool reverse) {
  const size_t n = keys.size();
  std::vector<size_t> order(n), merged(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t start = 0; start < n; start += 2 * width) {
      const size_t middle = std::min(start + width, n);
      const size_t end = std::min(start + 2 * width, n);
      size_t left = start, right = middle;
      for (size_t out = start; out < end; ++out) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          PUNA_TRY(takes_right,
                   compare(evaluator, reverse ? ">" : "<", keys[order[right]], keys[order[left]]));
        }
        merged[out] = order[takes_right ? right++ : left++];
      }
    }
    std::swap(order, merged);
  }
  return order;
}

Result<Value> picked(const Items& items, const std::vector<size_t>& order) {
  Items out;
  out.reserve(order.size());
  for (const size_t i : order) out.push_back(items[i]);
  return Value::list(std::move(out));
}

Result<Value> sort(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"reverse=", "case_sensitive=", "attribute="}));
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(const Items keys,
           sort_keys_of(evaluator, list->items, given[2], given[1] && given[1]->truthy()));
  PUNA_TRY(const int64_t reverse, integer_or(given[0], 0, "the reverse of sort"));
  PUNA_TRY(const auto order, sorted_order(evaluator, keys, reverse != 0));
  return picked(list->items, order);
}

Result<Value> dict_sort(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"case_sensitive=", "by=", "reverse="}));
  PUNA_TRY(const std::string by, string_or(given[1], "key", "what dictsort sorts by"));
  if (by != "key" && by != "value")
    return refuse(fmt::format("dictsort sorts by \"key\" or \"value\", not by \"{}\"", by));
  if (!input.is_dict())
    return refuse(fmt::format("dictsort does not work on a value of type {}", input.type_name()));
  PUNA_TRY(const Value pairs, call_method(evaluator, input, "items", {}));
  const Value column(by == "key" ? 0 : 1);
  PUNA_TRY(const Items keys,
           keys_of(evaluator, pairs.items(), &column, given[0] && given[0]->truthy()));
  PUNA_TRY(const int64_t reverse, integer_or(given[2], 0, "the reverse of dictsort"));
  PUNA_TRY(const auto order, sorted_order(evaluator, keys, reverse != 0));
  return picked(pairs.items(), order);
}

// groupby(attribute, default, case_sensitive): tuples of an attribute's value, that of the first
// item of the group, and the items that have it; in the order of the values.
Result<Value> group_by(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"attribute", "default=", "case_sensitive="}));
  const Value* fallback = given[1] && !given[1]->is_none() ? given[1] : nullptr;
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(const Items keys,
           keys_of(evaluator, list->items, given[0], given[2] && given[2]->truthy(), fallback));
  PUNA_TRY(const Items shown,
           keys_of(evaluator, list->items, given[0], /*case_sensitive=*/true, fallback));
  PUNA_TRY(const auto order, sorted_order(evaluator, keys, /*reverse=*/false));
  Items groups;
  for (size_t at = 0; at < order.size();) {
    const size_t first = order[at];
    Items members;
    for (; at < order.size(); ++at) {
      PUNA_TRY(const bool same, compare(evaluator, "==", keys[order[at]], keys[first]));
      if (!same) break;
      members.push_back(list->items[order[at]]);
    }
    PUNA_TRY(Value group, Value::list(std::move(members)));
    PUNA_TRY(group, Value::list({shown[first], std::move(group)}, Form::kGroup));
    groups.push_back(std::move(group));
  }
  return Value::list(std::move(groups));
}

Result<Value> unique(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"case_sensitive=", "attribute="}));
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(const Items keys,
           keys_of(evaluator, list->items, given[1], given[0] && given[0]->truthy()));
  Items seen, out;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].is_hashable())
      return refuse(fmt::format("unique does not work on values of type {}", keys[i].type_name()));
    PUNA_TRY(evaluator.spend((seen.size() + 1) * keys[i].weight()));
    if (std::ranges::find(seen, keys[i]) != seen.end()) continue;
    seen.push_back(keys[i]);
    out.push_back(list->items[i]);
  }
  return Value::list(std::move(out), Form::kLazy);
}

template <bool largest>
Result<Value> extreme(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"case_sensitive=", "attribute="}));
  PUNA_TRY(const auto list, items_of(evaluator, input));
  if (list->items.empty()) return Value::undefined("the sequence is empty");
  PUNA_TRY(const Items keys,
           keys_of(evaluator, list->items, given[1], given[0] && given[0]->truthy()));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    PUNA_TRY(const bool better, compare(evaluator, largest ? ">" : "<", keys[i], keys[best]));
    if (better) best = i;
  }
  return list->items[best];
}

Result<Value> sum(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"attribute=", "start="}));
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(const Items terms, keys_of(evaluator, list->items, given[0], /*case_sensitive=*/true));
  Value total = given[1] ? *given[1] : Value(0);
  if (total.is_string()) return refuse("sum does not add text; join does");
  for (const Value& term : terms) {
    PUNA_TRY(total, arithmetic(evaluator, "+", total, term));
  }
  return total;
}

Result<Value> length(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (input.is_string()) {
    PUNA_TRY(evaluator.spend(input.weight()));
    return Value(count_code_points(input.string()));
  }
  if (input.is_list()) return Value(static_cast<int64_t>(input.items().size()));
  if (input.is_dict()) return Value(static_cast<int64_t>(input.dict().entries.size()));
  if (input.is_undefined()) return Value(0);
  if (input.is_loop()) return Value(static_cast<int64_t>(input.loop().items->items.size()));
  return refuse(fmt::format("a value of type {} has no length", input.type_name()));
}

template <bool last>
Result<Value> end_item(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (!last && input.is_lazy()) {
    const ListData& lazy = *input.list_data();
    if (lazy.n_taken < lazy.items.size()) return lazy.items[lazy.n_taken++];
    return Value::undefined("the sequence is empty");
  }
  PUNA_TRY(const auto list, items_of(evaluator, input));
  if (list->items.empty()) return Value::undefined("the sequence is empty");
  return last ? list->items.back() : list->items.front();
}

Result<Value> as_list(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const auto list, items_of(evaluator, input));
  if (input.has_form(Form::kList)) return input;
  PUNA_TRY(evaluator.spend(list->items.size()));
  return Value::list(list->items);
}

Result<Value> pairs(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (input.is_undefined()) return Value::list({}, Form::kLazy);
  if (!input.is_dict())
    return refuse(fmt::format("items does not work on a value of type {}", input.type_name()));
  PUNA_TRY(evaluator.spend(input.dict().entries.size() * 2));
  Items out;
  for (const auto& [key, value] : input.dict().entries) {
    PUNA_TRY(Value pair, Value::list({key, value}, Form::kTuple));
    out.push_back(std::move(pair));
  }
  return Value::list(std::move(out), Form::kLazy);
}

Result<Value> reversed(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (input.is_string()) {
    PUNA_TRY(evaluator.spend(input.weight() * 4));
    const auto pieces = split_code_points(input.string());
    std::string text;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) text += *piece;
    return text_like(evaluator, input, std::move(text));
  }
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(evaluator.spend(list->items.size()));
  Items out(list->items.rbegin(), list->items.rend());
  return Value::list(std::move(out), input.is_lazy() ? Form::kList : Form::kLazy);
}

Result<Value> join(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"d=", "attribute="}));
  PUNA_TRY(const std::string separator,
           given[0] ? text_of(evaluator, *given[0]) : Result<std::string>(""));
  PUNA_TRY(const auto list, items_of(evaluator, input));
  std::string out;
  for (size_t i = 0; i < list->items.size(); ++i) {
    PUNA_TRY(const Value item, follow(list->items[i], given[1]));
    PUNA_TRY(const std::string text, text_of(evaluator, item));
    PUNA_TRY(evaluator.spend(1 + separator.size() / 8));
    if (i > 0) out += separator;
    out += text;
  }
  return Value(std::move(out));
}

Result<Value> default_to(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"default_value=", "boolean="}));
  const bool also_false = given[1] && given[1]->truthy();
  if (!input.is_undefined() && (!also_false || input.truthy())) return input;
  return given[0] ? *given[0] : Value("");
}

// What map() and select() walk: as in Jinja, anything false counts as empty, None too.
Result<std::shared_ptr<const ListData>> items_or_none(Evaluator& evaluator, const Value& input) {
  return items_of(evaluator, input.truthy() ? input : Value());
}

// The rest of the arguments of map() and select(), behind the first `n`.
Arguments behind(const Arguments& arguments, size_t n) {
  Arguments rest{.positional = {}, .named = arguments.named};
  for (size_t i = n; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  return rest;
}

Result<Value> map(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto list, items_or_none(evaluator, input));
  Items out;
  if (list->items.empty()) return Value::list({}, Form::kLazy);
  if (!arguments.positional.empty()) {
    PUNA_TRY(const std::string name,
             string_or(&arguments.positional[0], "", "the filter that map applies"));
    const Arguments rest = behind(arguments, 1);
    for (const Value& item : list->items) {
      PUNA_TRY(Value value, apply_filter(evaluator, name, item, rest));
      out.push_back(std::move(value));
    }
    return Value::list(std::move(out), Form::kLazy);
  }
  PUNA_TRY(const auto given, bind(arguments, {"attribute", "default="}));
  const Value* fallback = given[1] && !given[1]->is_none() ? given[1] : nullptr;
  for (const Value& item : list->items) {
    PUNA_TRY(evaluator.spend(1));
    PUNA_TRY(Value value, follow(item, given[0], fallback));
    out.push_back(std::move(value));
  }
  return Value::list(std::move(out), Form::kLazy);
}

// select, reject, selectattr, rejectattr: the items for which a test holds, or the truth of the
// value without one.
template <bool keeps, bool by_attribute>
Result<Value> select(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  static constexpr size_t kTestAt = by_attribute ? 1 : 0;
  if (by_attribute && arguments.positional.empty())
    return refuse("the name of the attribute is missing");
  const bool tests = arguments.positional.size() > kTestAt;
  std::string name;
  if (tests) {
    PUNA_TRY(name, string_or(&arguments.positional[kTestAt], "", "the name of the test"));
  }
  const Arguments rest = behind(arguments, kTestAt + 1);
  PUNA_TRY(const auto list, items_or_none(evaluator, input));
  Items out;
  for (const Value& item : list->items) {
    PUNA_TRY(evaluator.spend(1));
    Value value = item;
    if (by_attribute) {
      PUNA_TRY(value, follow(item, &arguments.positional[0]));
    }
    bool holds = value.truthy();
    if (tests) {
      PUNA_TRY(holds, apply_test(evaluator, name, value, rest));
    }
    if (holds == keeps) out.push_back(item);
  }
  return Value::list(std::move(out), Form::kLazy);
}

constexpr Filter kFilters[] = {
    {"count", length},
    {"d", default_to},
    {"default", default_to},
    {"dictsort", dict_sort},
    {"first", end_item<false>},
    {"groupby", group_by},
    {"items", pairs},
    {"join", join},
    {"last", end_item<true>},
    {"length", length},
    {"list", as_list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reversed},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

std::span<const Filter> sequence_filters() { return kFilters; }

}  // namespace puna::chat::jinja
