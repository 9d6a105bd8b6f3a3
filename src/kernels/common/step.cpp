// Sizes of the paged KV cache; the layout is described in step.h.
#include "kernels/common/step.h"

namespace puna::kernels {
namespace {
uint64_t kv_rows(const KvLayout& kv) { return uint64_t{kv.n_pages} * kv.n_kv_heads * kPageTokens; }
}  // namespace

std::string_view name(KvType type) {
  switch (type) {
    case KvType::kF32:
      return "f32";
    case KvType::kF16:
      return "f16";
    case KvType::kQ8_0:
      return "q8_0";
    case KvType::kQ4_0:
      return "q4_0";
  }
  return "unknown";
}

uint64_t KvLayout::scales_offset() const {
  if (!is_block(type)) return 0;
  const uint64_t elements = kv_rows(*this) * head_dim;
  return ((type == KvType::kQ8_0 ? elements : elements / 2) + 255) / 256 * 256;
}

uint64_t KvLayout::bytes() const {
  switch (type) {
    case KvType::kF32:
      return kv_rows(*this) * head_dim * 4;
    case KvType::kF16:
      return kv_rows(*this) * head_dim * 2;
    case KvType::kQ8_0:
    case KvType::kQ4_0:
      return scales_offset() + kv_rows(*this) * ((head_dim + 63) / 64) * 4;
  }
  return 0;
}

std::array<KvLayout::Range, 2> KvLayout::page(uint32_t index) const {
  const KvLayout one{type, 1, n_kv_heads, head_dim};
  const uint64_t rows = uint64_t{n_kv_heads} * kPageTokens;
  const uint64_t scales = is_block(type) ? rows * ((head_dim + 63) / 64) * 4 : 0;
  const uint64_t codes = type == KvType::kQ8_0   ? rows * head_dim
                         : type == KvType::kQ4_0 ? rows * head_dim / 2
                                                 : one.bytes();
  return {{{index * codes, codes}, {scales_offset() + index * scales, scales}}};
}

}  // namespace puna::kernels
