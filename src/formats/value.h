// One metadata value and its checked reading. Converters write one and the same number as any kind
// of integer or real, and one number for all layers as a list of equal ones; so whoever wants a
// number asks here, never for a kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace puna::formats {

struct Value;

// A list whose items are lists themselves, which GGUF allows and no known key has.
struct ListOfLists {
  std::vector<Value> lists;
  bool operator==(const ListOfLists& other) const;
};

// Integers of every width become int64_t or uint64_t, floats become double. Lists hold one kind.
using ValueKinds = std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<bool>,
                                std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                                std::vector<std::string>, ListOfLists>;
struct Value : ValueKinds {
  using ValueKinds::ValueKinds;
};

// The value of `key` as what is wanted. Numbers may be of any kind that holds them exactly, flags
// also the numbers 0 and 1; where one is wanted, a list of equal ones is one. Errors: kCorrupt with
// key, value and its kind.
base::Result<uint64_t> as_uint(std::string_view key, const Value& value);
base::Result<int64_t> as_int(std::string_view key, const Value& value);
base::Result<double> as_float(std::string_view key, const Value& value);
base::Result<bool> as_bool(std::string_view key, const Value& value);
base::Result<std::string> as_string(std::string_view key, const Value& value);

// The same for lists; one number is a list of one.
base::Result<std::vector<uint64_t>> as_uints(std::string_view key, const Value& value);
base::Result<std::vector<int64_t>> as_ints(std::string_view key, const Value& value);
base::Result<std::vector<double>> as_floats(std::string_view key, const Value& value);
base::Result<std::vector<bool>> as_bools(std::string_view key, const Value& value);

bool is_list(const Value& value);

// The value and its kind for a message, long lists and texts shortened: "[1, 2] (a list of 2
// integers)".
std::string describe(const Value& value);

}  // namespace puna::formats
