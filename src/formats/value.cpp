#include "formats/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>

#include "base/json.h"

namespace puna::formats {

namespace {

using base::ErrorCode;
using base::Result;

constexpr size_t kShownItems = 4;   // of lists
constexpr size_t kShownBytes = 40;  // of texts

// By index in Value; of lists the name of their items.
constexpr std::string_view kKinds[] = {
    "a bool", "an integer", "an unsigned integer", "a real", "a string",
    "bools",  "integers",   "unsigned integers",   "reals",  "strings",
    "lists"};
static_assert(std::size(kKinds) == std::variant_size_v<ValueKinds>);

template <class T>
struct ItemOf {};
template <class T>
struct ItemOf<std::vector<T>> {
  using Type = T;
};
template <class T>
concept List = requires { typename ItemOf<T>::Type; };

std::string text_of(bool v) { return v ? "true" : "false"; }
template <class T>
  requires(std::same_as<T, int64_t> || std::same_as<T, uint64_t> || std::same_as<T, double>)
std::string text_of(T v) {
  return fmt::to_string(v);
}
std::string text_of(const std::string& v) {
  const std::string quoted = base::Json(v.substr(0, kShownBytes)).dump();
  return v.size() <= kShownBytes ? quoted : fmt::format("{}... of {} bytes", quoted, v.size());
}

template <class Out>
bool holds(double v) {
  // 2^digits is the first number beyond and exact as a double, where the greatest one may not be.
  const double end = std::ldexp(1.0, std::numeric_limits<Out>::digits);
  const double first = std::is_signed_v<Out> ? -end : 0.0;
  return v >= first && v < end && v == std::trunc(v);
}

// `v` as the other type, where that holds it.
template <class Out, class In>
std::optional<Out> exactly(In v) {
  if constexpr (std::same_as<Out, In>) {
    return v;
  } else if constexpr (std::same_as<In, bool>) {
    return std::nullopt;  // a flag is no number
  } else if constexpr (std::same_as<Out, bool>) {
    if (v != In{0} && v != In{1}) return std::nullopt;
    return v == In{1};
  } else if constexpr (std::same_as<Out, double>) {
    return static_cast<double>(v);
  } else if constexpr (std::same_as<In, double>) {
    if (!holds<Out>(v)) return std::nullopt;
    return static_cast<Out>(v);
  } else {
    if (!std::in_range<Out>(v)) return std::nullopt;
    return static_cast<Out>(v);
  }
}

// The items of a list, or the one that is no list; nothing where one of them does not fit.
template <class Out>
std::optional<std::vector<Out>> items(const Value& value) {
  std::vector<Out> out;
  const auto add = [&](const auto& item) {
    const std::optional<Out> fitting = exactly<Out>(item);
    if (fitting) out.push_back(*fitting);
    return fitting.has_value();
  };
  const bool fit = std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T>) {
          return add(v);
        } else if constexpr (List<T>) {
          using Item = typename ItemOf<T>::Type;
          if constexpr (std::is_arithmetic_v<Item>) {
            out.reserve(v.size());
            return std::all_of(v.begin(), v.end(), [&](Item item) { return add(item); });
          }
        }
        return false;
      },
      value);
  if (!fit) return std::nullopt;
  return out;
}

std::unexpected<base::Error> wrong(std::string_view key, const Value& value,
                                   std::string_view wanted) {
  return base::fail(ErrorCode::kCorrupt, fmt::format("The metadata key \"{}\" is {}, not {}.", key,
                                                     describe(value), wanted));
}

template <class Out>
Result<std::vector<Out>> all(std::string_view key, const Value& value, std::string_view wanted) {
  if (auto found = items<Out>(value)) return *std::move(found);
  return wrong(key, value, wanted);
}

template <class Out>
Result<Out> one(std::string_view key, const Value& value, std::string_view wanted) {
  const auto found = items<Out>(value);
  const auto is_first = [&](const Out& item) { return item == found->front(); };
  if (found && !found->empty() && std::all_of(found->begin(), found->end(), is_first))
    return Out(found->front());
  return wrong(key, value, wanted);
}

}  // namespace

bool ListOfLists::operator==(const ListOfLists& other) const {
  return std::equal(lists.begin(), lists.end(), other.lists.begin(), other.lists.end(),
                    [](const ValueKinds& a, const ValueKinds& b) { return a == b; });
}

bool is_list(const Value& value) {
  return std::visit(
      [](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        return List<T> || std::same_as<T, ListOfLists>;
      },
      value);
}

std::string describe(const Value& value) {
  const std::string_view kind = kKinds[value.index()];
  return std::visit(
      [&](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::same_as<T, ListOfLists>) {
          return fmt::format("a list of {} {}", v.lists.size(), kind);
        } else if constexpr (List<T>) {
          using Item = typename ItemOf<T>::Type;
          std::string shown;
          for (size_t i = 0; i < std::min(v.size(), kShownItems); ++i)
            shown += (i == 0 ? "" : ", ") + text_of(static_cast<Item>(v[i]));
          if (v.size() > kShownItems) shown += ", ...";
          return fmt::format("[{}] (a list of {} {})", shown, v.size(), kind);
        } else {
          return fmt::format("{} ({})", text_of(v), kind);
        }
      },
      value);
}

Result<uint64_t> as_uint(std::string_view key, const Value& value) {
  return one<uint64_t>(key, value, "a whole number from 0");
}
Result<int64_t> as_int(std::string_view key, const Value& value) {
  return one<int64_t>(key, value, "a whole number");
}
Result<double> as_float(std::string_view key, const Value& value) {
  return one<double>(key, value, "a number");
}
Result<bool> as_bool(std::string_view key, const Value& value) {
  return one<bool>(key, value, "true or false");
}
Result<std::string> as_string(std::string_view key, const Value& value) {
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return wrong(key, value, "a string");
}

Result<std::vector<uint64_t>> as_uints(std::string_view key, const Value& value) {
  return all<uint64_t>(key, value, "a list of whole numbers from 0");
}
Result<std::vector<int64_t>> as_ints(std::string_view key, const Value& value) {
  return all<int64_t>(key, value, "a list of whole numbers");
}
Result<std::vector<double>> as_floats(std::string_view key, const Value& value) {
  return all<double>(key, value, "a list of numbers");
}
Result<std::vector<bool>> as_bools(std::string_view key, const Value& value) {
  return all<bool>(key, value, "a list of truth values");
}

}  // namespace puna::formats
