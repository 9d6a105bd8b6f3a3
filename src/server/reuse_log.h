// ReuseLog: says so when of a client's prompt much less is known than of the one before, and which
// text differs first: a date or a number at the beginning of a prompt makes all of it new.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace puna::server {

class ReuseLog {
 public:
  // Of a prompt of `n_cached` known tokens: what there is to say, in one line, where its share is
  // below half of that of the client's prompt before and the two part early. Any thread. tokenizer:
  // for the texts; may be null.
  std::optional<std::string> note(const std::string& client, std::vector<int32_t> prompt,
                                  uint32_t n_cached, const tokenizer::Tokenizer* tokenizer);

 private:
  struct Turn {
    std::string client;
    std::vector<int32_t> prompt;
    double share = 0;
  };

  std::mutex mutex_;
  std::list<Turn> turns_;  // the latest is first
  std::unordered_map<std::string, std::list<Turn>::iterator> by_client_;
};

}  // namespace puna::server
