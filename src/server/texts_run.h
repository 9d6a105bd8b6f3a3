// Carries the texts of one request from their model to their client, through the writer of the
// dialect. On the thread of the connection; events come as the client reads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/exchange.h"
#include "server/core.h"
#include "server/run.h"
#include "server/wire.h"
#include "service/answer.h"
#include "service/prepare.h"

namespace puna::server {

// Counts texts for as long as somebody has it.
class TextsCount {
 public:
  TextsCount(std::atomic<uint32_t>& count, uint32_t n) : count_(count), n_(n) { count_ += n_; }
  ~TextsCount() { count_ -= n_; }
  TextsCount(const TextsCount&) = delete;
  TextsCount& operator=(const TextsCount&) = delete;

 private:
  std::atomic<uint32_t>& count_;
  const uint32_t n_;
};

class TextsRun final : public Run, public std::enable_shared_from_this<TextsRun> {
 public:
  struct Plan {
    std::vector<service::Prepared> prepared;
    std::unique_ptr<api::Writer> writer;
    api::ModelLease model;
    std::shared_ptr<TextsCount> count;
    bool stream = false;
    std::optional<uint32_t> slot = {};  // that the texts wait for; none: any
    std::chrono::milliseconds ping{};
  };
  // incoming and what on_end uses outlive it.
  TextsRun(std::shared_ptr<Core> core, const Incoming& incoming,
           std::shared_ptr<Responder> responder, Plan plan, OnEnd on_end);
  ~TextsRun() override;

  // Run:
  void start() override;
  void go_on() override;
  void ping() override;
  void drop() override;
  void cancel() override;
  void fail(const base::Error& error) override;

 private:
  struct Text;

  void ask_place(size_t index);
  void begin_text(size_t index);
  // To one of the model's hosts.
  void give(Text& text, service::Prepared prepared);
  // What a text brings, as frames; true: it has ended.
  bool read(size_t index, std::string& out);
  void note_token(Text& text);
  void open_stream();
  void begin_stream();
  bool is_full(const std::string& out) const;
  void finish();
  void end(int status);
  // Ends all texts.
  void release();
  // Says so where less of the prompt was known than of the one before.
  void note_reuse();

  const std::shared_ptr<Core> core_;
  const Incoming& incoming_;
  const std::shared_ptr<Responder> responder_;
  Plan plan_;
  const OnEnd on_end_;
  ModelMetrics& metrics_;
  std::vector<std::unique_ptr<Text>> texts_;
  size_t n_ended_ = 0;
  // What the stream begins with, before anything else is asked of the writer, which numbers it.
  std::optional<std::string> opening_;
  bool begun_ = false;  // the stream
  bool over_ = false;
  Totals totals_;
  std::vector<int32_t> prompt_;  // of the only text
};

}  // namespace puna::server
