// The functions that every template has.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "chat/jinja/builtins.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

constexpr int64_t kMaxRange = 100'000;  // as in Jinja's sandbox

Result<Value> range(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"start", "stop=", "step=", "/"}));
  PUNA_TRY(int64_t first, integer_or(given[0], 0, "the start of a range"));
  PUNA_TRY(int64_t last, integer_or(given[1], 0, "the stop of a range"));
  PUNA_TRY(const int64_t step, integer_or(given[2], 1, "the step of a range"));
  if (!given[1]) last = std::exchange(first, 0);
  if (step == 0) return refuse("the step of a range is 0");
  const auto distance = step > 0 ? static_cast<double>(last) - static_cast<double>(first)
                                 : static_cast<double>(first) - static_cast<double>(last);
  const double n = std::ceil(distance / std::fabs(static_cast<double>(step)));
  if (n > kMaxRange) return refuse(fmt::format("a range has more than {} items", kMaxRange));
  PUNA_TRY(evaluator.spend(n > 0 ? static_cast<uint64_t>(n) : 0));
  return Value::range({.first = first, .last = last, .step = step});
}

using Entries = std::vector<std::pair<Value, Value>>;

Result<void> put(Evaluator& evaluator, Entries& entries, Value key, Value value) {
  if (!key.is_hashable()) return refuse(fmt::format("a {} cannot be a key", key.type_name()));
  PUNA_TRY(evaluator.spend(entries.size() + 1));
  const auto same = std::ranges::find(entries, key, &std::pair<Value, Value>::first);
  if (same != entries.end()) {
    same->second = std::move(value);
  } else {
    entries.emplace_back(std::move(key), std::move(value));
  }
  return {};
}

// The entries that dict() and namespace() take: those of a dict or of a list of pairs, then the
// named arguments.
Result<Entries> entries_of(Evaluator& evaluator, std::string_view function,
                           const Arguments& arguments) {
  Entries entries;
  if (arguments.positional.size() > 1)
    return refuse(fmt::format("{}() takes one dict and named arguments", function));
  if (!arguments.positional.empty() && arguments.positional[0].is_dict()) {
    entries = arguments.positional[0].dict().entries;
  } else if (!arguments.positional.empty()) {
    PUNA_TRY(const auto pairs, items_of(evaluator, arguments.positional[0]));
    for (const Value& each : pairs->items) {
      PUNA_TRY(const auto pair, items_of(evaluator, each));
      if (pair->items.size() != 2)
        return refuse(fmt::format("{}() wants pairs of a key and a value", function));
      PUNA_TRY(put(evaluator, entries, pair->items[0], pair->items[1]));
    }
  }
  for (const auto& [name, value] : arguments.named) PUNA_TRY(put(evaluator, entries, name, value));
  return entries;
}

Result<Value> make_namespace(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto entries, entries_of(evaluator, "namespace", arguments));
  PUNA_TRY(evaluator.spend(entries.size() + 4));
  std::vector<std::pair<std::string, Value>> members;
  for (const auto& [key, value] : entries) {
    if (!key.is_string()) return refuse("the members of a namespace have names");
    if (key.string().starts_with('_'))
      return refuse(
          fmt::format("a namespace takes no member with an underscore before its name "
                      "(\"{}\")",
                      key.string()));
    members.emplace_back(key.string(), value);
  }
  return evaluator.make_namespace(std::move(members));
}

Result<Value> make_dict(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(auto entries, entries_of(evaluator, "dict", arguments));
  PUNA_TRY(evaluator.spend(entries.size()));
  return Value::dict(std::move(entries));
}

Result<Value> raise_exception(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"message"}));
  PUNA_TRY(std::string what, text_of(evaluator, *given[0]));
  if (what.ends_with('.')) what.pop_back();  // the located message brings its own
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

Value dict_attribute(std::string_view name) {
  if (name != "fromkeys") return {};
  return CallableData{.name = "fromkeys", .call = dict_from_keys};
}

// cycler(a, b, ...): next() gives one after another, over and over.
Result<Value> make_cycler(Evaluator& evaluator, const Arguments& arguments) {
  if (!arguments.named.empty()) return refuse("cycler() takes no named arguments");
  if (arguments.positional.empty()) return refuse("cycler() wants at least one value");
  PUNA_TRY(evaluator.spend(arguments.positional.size()));
  struct State {
    std::vector<Value> items;
    size_t at = 0;
  };
  const auto state = std::make_shared<State>(State{.items = arguments.positional});
  const auto next = [state](Evaluator&, const Arguments& given) -> Result<Value> {
    PUNA_TRY(bind(given, {}));
    const size_t at = state->at;
    state->at = (at + 1) % state->items.size();
    return state->items[at];
  };
  const auto reset = [state](Evaluator&, const Arguments& given) -> Result<Value> {
    PUNA_TRY(bind(given, {}));
    state->at = 0;
    return Value(Value::None{});
  };
  const auto attribute = [state, next, reset](std::string_view name) -> Value {
    if (name == "current") return state->items[state->at];
    if (name == "next") return CallableData{.name = "next", .call = next};
    if (name == "reset") return CallableData{.name = "reset", .call = reset};
    if (name != "items") return {};
    return Value::list(state->items, ListData::Form::kTuple).value_or(Value());
  };
  return Value(
      CallableData{.name = "cycler", .type = "Cycler", .call = {}, .attribute = attribute});
}

// joiner(separator): gives "" when it is first called, and the separator from then on.
Result<Value> make_joiner(Evaluator&, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sep="}));
  const auto used = std::make_shared<bool>(false);
  const Value separator = given[0] ? *given[0] : Value(", ");
  return Value(
      CallableData{.name = "joiner",
                   .type = "Joiner",
                   .call = [used, separator](Evaluator&, const Arguments& none) -> Result<Value> {
                     PUNA_TRY(bind(none, {}));
                     return std::exchange(*used, true) ? separator : Value("");
                   }});
}

Result<Value> lipsum(Evaluator&, const Arguments&) {
  return refuse("lipsum() is not supported, as what it gives is random");
}

struct Global {
  std::string_view name;
  Result<Value> (*call)(Evaluator&, const Arguments&);
  Value (*attribute)(std::string_view name) = nullptr;
};

constexpr Global kGlobals[] = {
    {"cycler", make_cycler},
    {"dict", make_dict, dict_attribute},
    {"joiner", make_joiner},
    {"lipsum", lipsum},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
};

}  // namespace

Result<Value> dict_from_keys(Evaluator& evaluator, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"keys", "value=", "/"}));
  PUNA_TRY(const auto keys, items_of(evaluator, *given[0]));
  Entries entries;
  for (const Value& key : keys->items)
    PUNA_TRY(put(evaluator, entries, key, given[1] ? *given[1] : Value(Value::None{})));
  return Value::dict(std::move(entries));
}

Value find_global(std::string_view name) {
  const auto found = std::ranges::find(kGlobals, name, &Global::name);
  if (found == std::end(kGlobals)) return {};
  CallableData out{.name = std::string(name), .call = found->call};
  if (found->attribute) out.attribute = found->attribute;
  return out;
}

}  // namespace puna::chat::jinja
