// Which of several hosts of one model is given a text: the one where least is left to do for it.
// What a host knows of earlier texts is told by what it was given, so that nobody has to ask it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

namespace puna::service {

class Placing {
 public:
  // A host, as it is now.
  struct Candidate {
    uint32_t n_texts = 0;      // that it has
    uint64_t free_tokens = 0;  // that it has room for beside them
    bool lost = false;         // its device
  };

  // Of so many hosts, each of which keeps about so many tokens of texts.
  Placing(size_t n_hosts, uint64_t kept_tokens);

  // One that is not lost, if there is one. Counts in tokens that are to be read: those of the
  // prompt that it does not know, again those it has no room for, and some for each text that it
  // has.
  size_t choose(std::span<const int32_t> prompt, std::span<const Candidate> hosts) const;
  // A host has been given this text, or knows it otherwise.
  void note(size_t host, std::span<const int32_t> text);

 private:
  // Beginnings of texts by their hashes, the last that were of use in front.
  struct Known {
    std::list<uint64_t> order;
    std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places;
  };

  std::vector<Known> known_;
  const size_t most_;  // beginnings of a host
};

}  // namespace puna::service
