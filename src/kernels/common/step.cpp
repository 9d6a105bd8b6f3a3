// Sizes of the paged KV cache; the layout is described in step.h.
#include "kernels/common/step.h"

namespace puna::kernels {
namespace {
// Rows of so many pages: one for each KV head and token.
uint64_t kv_rows(const KvLayout& kv, uint32_t n_pages) {
  return uint64_t{n_pages} * kv.n_kv_heads * kPageTokens;
}
uint64_t code_bytes(const KvLayout& kv, uint64_t rows) {
  switch (kv.type) {
    case KvType::kF32:
      return rows * kv.head_dim * 4;
    case KvType::kF16:
      return rows * kv.head_dim * 2;
    case KvType::kQ8_0:
      return rows * kv.head_dim;
    case KvType::kQ4_0:
      return rows * kv.head_dim / 2;
  }
  return 0;
}
uint64_t scale_bytes(const KvLayout& kv, uint64_t rows) {
  return is_block(kv.type) ? rows * ((kv.head_dim + 63) / 64) * 4 : 0;
}
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

std::optional<KvType> kv_type_named(std::string_view wanted) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    if (name(type) == wanted) return type;
  }
  return std::nullopt;
}

uint64_t KvLayout::scales_offset() const {
  if (!is_block(type)) return 0;
  return (code_bytes(*this, kv_rows(*this, n_pages)) + 255) / 256 * 256;
}

uint64_t KvLayout::bytes() const {
  const uint64_t rows = kv_rows(*this, n_pages);
  return is_block(type) ? scales_offset() + scale_bytes(*this, rows) : code_bytes(*this, rows);
}

std::array<KvLayout::Range, 2> KvLayout::page(uint32_t index) const {
  const uint64_t rows = kv_rows(*this, 1);
  const uint64_t codes = code_bytes(*this, rows), scales = scale_bytes(*this, rows);
  return {{{index * codes, codes}, {scales_offset() + index * scales, scales}}};
}

}  // namespace puna::kernels
