// The table of weight types: block geometry, plain decode and encode of each. One file set per type
// (q4_k.h .cpp .wgsl); a new type is those files, a name here and one row in quant.cpp
// (docs/adding-a-weight-type.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace puna::quant {

// In the order of their GGUF ids, but for bf16; then those that GGUF has not.
enum class Type : uint8_t {
  kF32,
  kF16,
  kBf16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ3_XXS,
  kIQ1_S,
  kIQ4_NL,
  kIQ3_S,
  kIQ2_S,
  kIQ4_XS,
  kIQ1_M,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4,
  kQ1_0,
  kQ4F16_1,
  kQ4F32_1
};
inline constexpr size_t kTypeCount = static_cast<size_t>(Type::kQ4F32_1) + 1;
inline constexpr uint32_t kNoGgufId = 0xffffffffu;

struct UnitCodes;
struct TypePlanes;

struct TypeInfo {
  Type type;
  std::string_view name;    // lower case, as on the command line: "q4_k"
  uint32_t gguf_id;         // ggml_type in the GGUF specification, or kNoGgufId
  uint32_t block_elements;  // elements per block; a row is a whole number of blocks
  uint32_t block_bytes;     // bytes per block in a file
  // Decodes n elements (a multiple of block_elements) exactly as the format defines them.
  void (*decode)(const std::byte* blocks, float* out, size_t n);
  // Encodes n elements by round-to-nearest with the search the type is known for; nullptr when puna
  // quantize does not write it.
  void (*encode)(const float* in, std::byte* blocks, size_t n);
  // Takes n units (32 elements each) of a row from unit `first` on apart into signed codes and
  // scales (unit.h): out[0], out[step], .. ; nullptr for the types that are bit fields only.
  void (*read_units)(const std::byte* row, uint32_t first, uint32_t n, UnitCodes* out, size_t step);
  uint8_t max_code;  // of read_units: no code is larger in size
  // How a matrix of the type lies in GPU memory (planes.h).
  TypePlanes (*planes)();
  // For random blocks: byte offsets of the f16 fields, and what puts a scale of about x where no
  // f16 holds it, or nullptr.
  std::span<const uint16_t> halves;
  void (*set_scale)(float x, std::byte* block);

  double bits_per_weight() const { return 8.0 * block_bytes / block_elements; }
};

std::span<const TypeInfo> types();
const TypeInfo& info(Type type);
const TypeInfo* find(std::string_view name);  // case-insensitive; nullptr when unknown
const TypeInfo* find_gguf(uint32_t gguf_id);  // nullptr when unknown
// The name GGUF gives an id that Puna does not support ("IQ2_XXS"), or "unknown".
std::string_view gguf_type_name(uint32_t gguf_id);

inline uint64_t row_bytes(Type type, uint64_t n_elements) {
  const TypeInfo& t = info(type);
  return n_elements / t.block_elements * t.block_bytes;
}

}  // namespace puna::quant
