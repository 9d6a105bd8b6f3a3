// Snapshots: which copies of sequences' recurrent states are kept. Unlike keys and values, a
// recurrent state cannot be taken back to an earlier position; a sequence that changes from there
// on goes back to the newest copy at or before it and evaluates the tokens in between again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace puna::engine {

class Snapshots {
 public:
  struct Snapshot {
    uint32_t position = 0;  // tokens of the sequence that the state holds
    uint32_t slot = 0;      // below n_sequences * n_each
  };

  Snapshots(uint32_t n_sequences, uint32_t n_each);  // n_each of at least 2

  // The slot for a copy at `position`, which is above all that the sequence has. When there is none
  // left, the copy goes that lies closest behind another (or behind the start), never the newest.
  uint32_t add(uint32_t sequence, uint32_t position);
  // Forgets the copies beyond `position`; gives the newest that is left.
  std::optional<Snapshot> rewind(uint32_t sequence, uint32_t position);
  std::optional<Snapshot> newest(uint32_t sequence) const;

 private:
  struct Sequence {
    std::vector<Snapshot> kept;  // by position
    std::vector<uint32_t> free;
  };
  std::vector<Sequence> sequences_;
};

}  // namespace puna::engine
