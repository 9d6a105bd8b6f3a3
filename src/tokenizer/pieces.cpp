#include "tokenizer/pieces.h"

#include <bit>

namespace puna::tokenizer {

void Pieces::reserve(size_t n_pieces, size_t n_bytes) {
  bytes_.reserve(n_bytes);
  starts_.reserve(n_pieces + 1);
  indexed_.reserve(n_pieces);
  slots_.assign(std::bit_ceil(2 * n_pieces + 1), {});
  mask_ = slots_.size() - 1;
}

void Pieces::append(std::string_view bytes) {
  bytes_.append(bytes);
  starts_.push_back(bytes_.size());
  indexed_.push_back(false);
}

int32_t Pieces::index(int32_t id) {
  const std::string_view bytes = (*this)[id];
  const uint64_t hash = hash_bytes(bytes);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & mask_;
  for (; slots_[at].id >= 0; at = (at + 1) & mask_) {
    if (slots_[at].tag == tag && (*this)[slots_[at].id] == bytes) return slots_[at].id;
  }
  slots_[at] = {tag, id};
  indexed_[static_cast<size_t>(id)] = true;
  return id;
}

MergeTable::MergeTable(size_t n_merges)
    : slots_(std::bit_ceil(n_merges * 8 / 5 + 1)),
      mask_(slots_.size() - 1),
      seen_(std::bit_ceil(n_merges / 2 + 2)),
      seen_shift_(64 - std::countr_zero(seen_.size())) {}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  const uint64_t hash = hash_of(key);
  size_t at = hash & mask_;
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
  slots_[at] = {key, merge};
  seen_[seen_byte(hash)] |= seen_bit(hash);
}

}  // namespace puna::tokenizer
