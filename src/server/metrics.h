// What is counted while requests are answered, as Prometheus reads it. From atomics and the status
// of hosts: nobody asks the thread of an engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model_source.h"
#include "server/histogram.h"
#include "server/run.h"

namespace puna::server {

struct ModelMetrics {
  Histogram queue_time;   // from the request until the model is given the text
  Histogram first_token;  // from the request
  Histogram token_gap;    // between two tokens of a text
  std::atomic<uint64_t> n_texts = 0, n_cancelled = 0;  // that have ended
  std::atomic<uint64_t> n_prompt = 0, n_cached = 0, n_generated = 0;
  std::atomic<uint64_t> n_embedded = 0;  // tokens of texts that nothing is written behind
  std::atomic<uint64_t> prompt_us = 0, decode_us = 0;  // the former of n_embedded too
  std::atomic<uint64_t> most_tokens = 0;               // of one text
  std::atomic<uint64_t> n_overdue = 0;                 // steps (watchdog.h)
  // Tokens behind the first of a text, which decode_us is the time of.
  std::atomic<uint64_t> n_decoded = 0;

  void add(const Totals& totals);
};

class Metrics {
 public:
  // By the id of a served model; stays as long as this.
  ModelMetrics& of(const std::string& model);
  // `route`: its pattern. Methods that HTTP does not have count as "other".
  void count_request(std::string_view method, std::string_view route, int status);

  struct Now {
    uint32_t n_connections = 0;
    uint32_t n_unread = 0;   // requests that no thread has taken up
    uint32_t n_waiting = 0;  // texts that no model was given
    std::vector<api::ModelLease> models;
    std::vector<api::ModelStatus> known;  // where models come and go
  };
  std::string text(const Now& now);

  std::time_t started() const { return started_; }

 private:
  const std::time_t started_ = std::time(nullptr);
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ModelMetrics>, std::less<>> models_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;  // by labels and status
  // At the last call of text(), for rates.
  uint64_t last_prompt_ = 0, last_prompt_us_ = 0, last_decoded_ = 0, last_decode_us_ = 0;
};

}  // namespace puna::server
