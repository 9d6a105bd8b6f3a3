// Tensors as files of other kinds than GGUF hold them, before they get GGUF's names and order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/byte_source.h"
#include "quant/quant.h"

namespace puna::formats {

struct RawTensor {
  std::string name;
  std::optional<quant::Type> type;  // none: a type that weights are not read from (type_name)
  std::string type_name;            // as the file says: "BF16"
  std::vector<uint64_t> shape;      // outermost first; empty for a scalar
  uint32_t source = 0;              // index into RawModel::sources
  uint64_t offset = 0;              // bytes from the start of that source
  uint64_t bytes = 0;
  std::optional<float> scalar = {};  // of one element, where the family asks for it (hf/families.h)
};

struct RawModel {
  std::vector<std::unique_ptr<io::ByteSource>> sources;
  std::vector<RawTensor> tensors;
};

}  // namespace puna::formats
