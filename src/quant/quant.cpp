#include "quant/quant.h"

#include "base/check.h"
#include "quant/floats.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"
#include "quant/q1_0.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q4f16_1.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

namespace puna::quant {

namespace {

template <class Block>
constexpr bool kReadByUnits = requires(Block block, UnitCodes& out) { read_unit(block, 0, out); };

template <class Block>
void decode_blocks(const std::byte* blocks, float* out, size_t n) {
  PUNA_DCHECK(n % Block::kElements == 0);
  for (size_t i = 0; i < n / Block::kElements; ++i) {
    const Block block = load_block<Block>(blocks, i);
    if constexpr (kReadByUnits<Block>) {
      decode_by_units(block, out + i * Block::kElements);
    } else {
      decode(block, out + i * Block::kElements);
    }
  }
}

template <class Block>
void encode_blocks(const float* in, std::byte* blocks, size_t n) {
  PUNA_DCHECK(n % Block::kElements == 0);
  for (size_t i = 0; i < n / Block::kElements; ++i) {
    Block block;
    encode(in + i * Block::kElements, block);
    store_block(block, blocks, i);
  }
}

template <class Block>
void read_row_units(const std::byte* row, uint32_t first, uint32_t n, UnitCodes* out, size_t step) {
  constexpr uint32_t kUnits = Block::kElements / 32;
  Block block;
  for (uint32_t unit = first; unit < first + n; ++unit, out += step) {
    if (unit == first || unit % kUnits == 0) block = load_block<Block>(row, unit / kUnits);
    read_unit(block, unit % kUnits, *out);
  }
}

template <class Block>
void set_block_scale(float x, std::byte* at) {
  Block block = load_block<Block>(at, 0);
  set_scale(x, block);
  store_block(block, at, 0);
}

template <class Block>
constexpr TypeInfo row(Type type, std::string_view name, uint32_t gguf_id) {
  TypeInfo info{};
  info.type = type;
  info.name = name;
  info.gguf_id = gguf_id;
  info.block_elements = Block::kElements;
  info.block_bytes = sizeof(Block);
  info.decode = decode_blocks<Block>;
  info.planes = Block::planes;
  if constexpr (requires(Block block) { encode(static_cast<const float*>(nullptr), block); })
    info.encode = encode_blocks<Block>;
  if constexpr (kReadByUnits<Block>) {
    info.read_units = read_row_units<Block>;
    info.max_code = Block::kMaxCode;
  }
  if constexpr (requires { Block::kHalves; }) info.halves = Block::kHalves;
  if constexpr (requires(Block block) { set_scale(0.0f, block); })
    info.set_scale = set_block_scale<Block>;
  return info;
}

// The table, in the order of Type.
constexpr TypeInfo kTypes[] = {
    row<BlockF32>(Type::kF32, "f32", 0),
    row<BlockF16>(Type::kF16, "f16", 1),
    row<BlockBf16>(Type::kBf16, "bf16", 30),
    row<BlockQ4_0>(Type::kQ4_0, "q4_0", 2),
    row<BlockQ4_1>(Type::kQ4_1, "q4_1", 3),
    row<BlockQ5_0>(Type::kQ5_0, "q5_0", 6),
    row<BlockQ5_1>(Type::kQ5_1, "q5_1", 7),
    row<BlockQ8_0>(Type::kQ8_0, "q8_0", 8),
    row<BlockQ2_K>(Type::kQ2_K, "q2_k", 10),
    row<BlockQ3_K>(Type::kQ3_K, "q3_k", 11),
    row<BlockQ4_K>(Type::kQ4_K, "q4_k", 12),
    row<BlockQ5_K>(Type::kQ5_K, "q5_k", 13),
    row<BlockQ6_K>(Type::kQ6_K, "q6_k", 14),
    row<BlockIQ2_XXS>(Type::kIQ2_XXS, "iq2_xxs", 16),
    row<BlockIQ2_XS>(Type::kIQ2_XS, "iq2_xs", 17),
    row<BlockIQ3_XXS>(Type::kIQ3_XXS, "iq3_xxs", 18),
    row<BlockIQ1_S>(Type::kIQ1_S, "iq1_s", 19),
    row<BlockIQ4_NL>(Type::kIQ4_NL, "iq4_nl", 20),
    row<BlockIQ3_S>(Type::kIQ3_S, "iq3_s", 21),
    row<BlockIQ2_S>(Type::kIQ2_S, "iq2_s", 22),
    row<BlockIQ4_XS>(Type::kIQ4_XS, "iq4_xs", 23),
    row<BlockIQ1_M>(Type::kIQ1_M, "iq1_m", 29),
    row<BlockTQ1_0>(Type::kTQ1_0, "tq1_0", 34),
    row<BlockTQ2_0>(Type::kTQ2_0, "tq2_0", 35),
    row<BlockMXFP4>(Type::kMXFP4, "mxfp4", 39),
    row<BlockNVFP4>(Type::kNVFP4, "nvfp4", 40),
    row<BlockQ1_0>(Type::kQ1_0, "q1_0", 41),
    row<BlockQ4F16_1>(Type::kQ4F16_1, "q4f16_1", kNoGgufId),
    row<BlockQ4F32_1>(Type::kQ4F32_1, "q4f32_1", kNoGgufId),
};
static_assert(std::size(kTypes) == kTypeCount);

// ggml_type names by id; the ids with an empty name were given up by ggml.
constexpr std::string_view kGgufNames[] = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "",      "",       "Q5_0", "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
    "",        "",      "",       "MXFP4", "NVFP4", "Q1_0",   "Q2_0"};

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

}  // namespace

std::span<const TypeInfo> types() { return kTypes; }

const TypeInfo& info(Type type) {
  PUNA_CHECK(static_cast<size_t>(type) < std::size(kTypes));
  return kTypes[static_cast<size_t>(type)];
}

const TypeInfo* find(std::string_view name) {
  for (const TypeInfo& type : kTypes) {
    if (equal_ignoring_case(type.name, name)) return &type;
  }
  return nullptr;
}

const TypeInfo* find_gguf(uint32_t gguf_id) {
  for (const TypeInfo& type : kTypes) {
    if (type.gguf_id == gguf_id && gguf_id != kNoGgufId) return &type;
  }
  return nullptr;
}

std::string_view gguf_type_name(uint32_t gguf_id) {
  if (gguf_id >= std::size(kGgufNames) || kGgufNames[gguf_id].empty()) return "unknown";
  return kGgufNames[gguf_id];
}

}  // namespace puna::quant
