// Remembers which ids a word of this text became, so that common words are merged once. Words and
// ids are not copied: an entry points to where the word and its ids stand already, so both must
// stay in place while the cache is in use.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tokenizer/pieces.h"

namespace puna::tokenizer {

class WordCache {
 public:
  explicit WordCache(size_t text_bytes)
      : entries_(std::bit_ceil(std::clamp<size_t>(text_bytes / 16, 1, kMostEntries))),
        mask_(entries_.size() - 1) {}

  // Appends the ids of `word` to `ids`, calling encode(word) to append them when they are not
  // known.
  template <class Encode>
  void append(std::string_view word, std::vector<int32_t>& ids, Encode&& encode) {
    if (word.size() > kMostBytes) return encode(word);
    Entry& entry = entries_[hash_bytes(word) & mask_];
    if (entry.bytes == word.size() && std::memcmp(entry.word, word.data(), word.size()) == 0) {
      const size_t end = ids.size();
      ids.resize(end + entry.n_ids);
      std::copy_n(ids.begin() + static_cast<ptrdiff_t>(entry.first_id), entry.n_ids,
                  ids.begin() + static_cast<ptrdiff_t>(end));
      return;
    }
    const size_t first_id = ids.size();
    encode(word);
    entry = {word.data(), static_cast<uint32_t>(word.size()),
             static_cast<uint32_t>(ids.size() - first_id), first_id};
  }

 private:
  static constexpr size_t kMostBytes = 64;       // longer words hardly come twice
  static constexpr size_t kMostEntries = 16384;  // 384 KiB, within a core's L2 cache
  struct Entry {
    const char* word = nullptr;
    uint32_t bytes = 0;
    uint32_t n_ids = 0;
    size_t first_id = 0;
  };
  std::vector<Entry> entries_;
  size_t mask_;
};

}  // namespace puna::tokenizer
