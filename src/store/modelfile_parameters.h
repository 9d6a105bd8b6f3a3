// The parameters that a Modelfile sets, by ollama's names.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace puna::store {

struct ModelfileParameter {
  enum class Kind { kInteger, kNumber, kFlag, kTexts };
  std::string_view name;
  Kind kind = Kind::kInteger;
  double lowest = 0, highest = 0;  // of numbers
};

std::span<const ModelfileParameter> modelfile_parameters();

// Parameters that ollama had once: they are passed over with a warning.
std::span<const std::string_view> former_parameters();

// The value that `text` is for a parameter; one text of a kTexts. Errors: kInvalidArgument, without
// a line, for an unknown name, a value of another type and one out of range.
base::Result<base::Json> read_parameter(std::string_view name, std::string_view text);

// The parameters of an object as a Modelfile has them: values of their own type or as texts, a
// kTexts as one text or a list of them. Members that are null are left out; null has none. Errors:
// those of read_parameter().
base::Result<base::Json> read_parameters(const base::Json& given);

}  // namespace puna::store
