// Run: what answers a request once it is known what is to be answered: its texts (texts_run.h), or
// another process (forward.h). On the thread of the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "server/histogram.h"
#include "service/request.h"

namespace puna::server {

// What a request has cost.
struct Totals {
  uint64_t n_prompt = 0, n_cached = 0, n_generated = 0;
  uint64_t n_texts = 0, n_cancelled = 0;
  uint64_t n_decoded = 0;                 // tokens behind the first of each text
  uint64_t n_embedded = 0;                // tokens of texts that nothing is written behind
  uint64_t most_tokens = 0;               // of one text
  uint64_t prompt_us = 0, decode_us = 0;  // the former of n_embedded too
  Durations gaps{};                       // between two tokens of a text

  void add(const Totals& more);
};
Totals totals_of(const service::Reply& reply);
Totals totals_of_embedded(uint64_t n_tokens, double ms);
// As a header between a server and the one that asks it for others (Options::behind_server).
inline constexpr std::string_view kTotalsHeader = "x-puna-totals";
std::string to_text(const Totals& totals);
std::optional<Totals> read_totals(std::string_view text);
// What a server calls a request that it sends on, and that of one that it wants ended
// (named_runs.h).
inline constexpr std::string_view kRunHeader = "x-puna-run";
inline constexpr std::string_view kStopHeader = "x-puna-stop";

// Called once, with the status of the reply, before its end is sent; 499: there is none.
using OnEnd = std::function<void(const Totals& totals, int status)>;

class Run {
 public:
  virtual ~Run() = default;
  virtual void start() = 0;
  // Reads what has come, as far as the client has room for it.
  virtual void go_on() = 0;
  virtual void ping() = 0;
  // Its client has left.
  virtual void drop() = 0;
  // It ends with what there is of it.
  virtual void cancel() = 0;
  virtual void fail(const base::Error& error) = 0;
};

}  // namespace puna::server
