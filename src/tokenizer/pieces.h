// The pieces of a vocabulary as raw bytes: by id, and an index from bytes to id for those that text
// is made of.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge.h"

namespace puna::tokenizer {

inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // of 2^64, and odd: spreads bits well

// A quick hash for short strings; not meant to withstand an attacker, who could only slow down his
// own model.
inline uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = bytes.size() * kGoldenRatio;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * kGoldenRatio;
    hash ^= hash >> 29;
  }
  uint64_t tail = 0;
  for (size_t i = 0; i < left; ++i) tail |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  hash = (hash ^ tail) * kGoldenRatio;
  return hash ^ hash >> 32;
}

class Pieces {
 public:
  // Room for `n_pieces` with `n_bytes` together.
  void reserve(size_t n_pieces, size_t n_bytes);
  void append(std::string_view bytes);  // the piece with the next id
  std::string_view operator[](int32_t id) const {
    return std::string_view(bytes_).substr(starts_[id], starts_[id + 1] - starts_[id]);
  }
  int32_t size() const { return static_cast<int32_t>(starts_.size()) - 1; }

  // Makes `id` the answer of find() for its bytes, unless a piece with the same bytes is in: then
  // that one's id comes back.
  int32_t index(int32_t id);
  // The indexed id of these bytes, or -1.
  int32_t find(std::string_view bytes) const {
    const auto hash = hash_bytes(bytes);
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id < 0) return -1;
      if (slot.tag == static_cast<uint32_t>(hash >> 32) && (*this)[slot.id] == bytes)
        return slot.id;
    }
  }
  // The same, without the search where `id` is the answer or the id behind it is.
  int32_t find_near(int32_t id, std::string_view bytes) const {
    for (const int32_t guess : {id, id + 1}) {
      if (guess >= 0 && guess < size() && indexed_[guess] && (*this)[guess] == bytes) return guess;
    }
    return find(bytes);
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t id = -1;
  };
  std::string bytes_;
  std::vector<size_t> starts_ = {0};
  std::vector<bool> indexed_;                       // by id: whether find() answers it
  std::vector<Slot> slots_ = std::vector<Slot>(1);  // open addressing, at most half full
  size_t mask_ = 0;
};

// The merges of a vocabulary: (left, right) to what they become and how early.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };
  explicit MergeTable(size_t n_merges = 0);
  // Where a pair comes again the last counts, as in Hugging Face's library.
  void insert(int32_t left, int32_t right, Merge merge);
  const Merge* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    const uint64_t hash = hash_of(key);
    if ((seen_[seen_byte(hash)] & seen_bit(hash)) == 0) return nullptr;
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }
  // Negative ids merge with nothing.
  Candidate candidate(int32_t left, int32_t right) const {
    if ((left | right) < 0) return Candidate{};
    const Merge* merge = find(left, right);
    return merge == nullptr ? Candidate{} : Candidate{merge->rank, merge->id};
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  static uint64_t hash_of(uint64_t key) {
    const uint64_t hash = key * kGoldenRatio;
    return hash ^ hash >> 32;
  }
  size_t seen_byte(uint64_t hash) const { return static_cast<size_t>(hash >> seen_shift_); }
  static uint8_t seen_bit(uint64_t hash) { return static_cast<uint8_t>(1u << (hash >> 32 & 7)); }
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };
  std::vector<Slot> slots_;  // at most five eighths full
  size_t mask_;
  // A bit for a hash of each pair: most pairs that are asked for do not merge, and this fits a
  // core's cache where the slots do not.
  std::vector<uint8_t> seen_;
  int seen_shift_;
};

// The table of "left right" lines. id_of(stored): the piece that a vocabulary writes so, or -1.
// Errors: kCorrupt naming the line.
template <class IdOf>
base::Result<MergeTable> read_merges(std::span<const std::string> lines, const Pieces& pieces,
                                     IdOf&& id_of) {
  MergeTable table(lines.size());
  std::string bytes;
  int32_t joined = -1;
  for (size_t rank = 0; rank < lines.size(); ++rank) {
    const std::string_view merge = lines[rank];
    const auto wrong = [&](std::string_view why) {
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("The merge {} (\"{}\") {}.", rank, merge, why));
    };
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos)
      return wrong("is not two pieces with a space between them");
    const int32_t left = id_of(merge.substr(0, space));
    const int32_t right = id_of(merge.substr(space + 1));
    if (left < 0 || right < 0) return wrong("names a piece that is not in the vocabulary");
    bytes.assign(pieces[left]).append(pieces[right]);
    // Most vocabularies list merges in the order of what these make.
    joined = pieces.find_near(joined, bytes);
    if (joined < 0) return wrong("makes a piece that is not in the vocabulary");
    table.insert(left, right, {static_cast<uint32_t>(rank), joined});
  }
  return table;
}

}  // namespace puna::tokenizer
