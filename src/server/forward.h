// Forward: a request whose model runs in another process (api::RemoteModel). It goes there as it
// is, over a Unix socket, and what comes back goes to the client as it comes. Where that process
// ends in the middle, its clients are told so in the shape of their dialect. On the thread of the
// connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model_source.h"
#include "base/clock.h"
#include "server/core.h"
#include "server/response_reader.h"
#include "server/run.h"
#include "server/texts_run.h"
#include "server/wire.h"

namespace puna::server {

// Whose turn a request takes; of Options::behind_server alone.
inline constexpr std::string_view kClientHeader = "x-puna-client";
// Milliseconds that it has waited for its model, which was loaded elsewhere; likewise.
inline constexpr std::string_view kLoadHeader = "x-puna-load-ms";

// The reply to a request whose model, which is elsewhere, cannot answer: 502 where its process has
// ended. kCancelled is 503, as in error_reply().
api::HttpReply elsewhere_reply(api::Dialect dialect, const base::Error& error);

class Forward final : public Run, public std::enable_shared_from_this<Forward> {
 public:
  // incoming and what on_end uses outlive it. load_ms: that the request has waited for its model.
  Forward(std::shared_ptr<Core> core, const Incoming& incoming,
          std::shared_ptr<Responder> responder, api::ModelLease model,
          std::shared_ptr<TextsCount> count, double load_ms, OnEnd on_end);
  ~Forward() override;

  // Run:
  void start() override;
  void go_on() override;
  // The other process does that.
  void ping() override {}
  void drop() override;
  // The other process writes the end of it.
  void cancel() override;
  void fail(const base::Error& error) override;

 private:
  std::string request_text() const;
  void connected(base::Result<std::unique_ptr<Stream>> stream);
  void read_more();
  void on_read(size_t n);
  // Passes on what there is of the reply.
  void pass_on();
  void pass_stream_on();
  void broke();
  // Has the other process end it.
  void ask_to_stop(std::unique_ptr<Stream> stream);
  void read_stop();
  void stop_refused();
  Totals totals() const;
  // Nothing more is read of the other process.
  void close();
  void end(const Totals& totals, int status);

  const std::shared_ptr<Core> core_;
  const Incoming& incoming_;
  const std::shared_ptr<Responder> responder_;
  api::ModelLease model_;
  std::shared_ptr<TextsCount> count_;
  const double load_ms_;
  const OnEnd on_end_;

  const std::string name_;  // that the other process knows it by
  std::shared_ptr<Stream> stream_;
  ResponseReader reader_;
  std::vector<char> read_into_;
  // Where that is asked to end it.
  std::shared_ptr<Stream> stop_stream_;
  ResponseReader stop_reader_{/*head_only=*/true};
  std::vector<char> stop_read_into_;
  std::string content_type_;
  std::string partial_;    // the beginning of a frame whose end has not come
  uint64_t n_events_ = 0;  // of a response, whose events are numbered
  bool reading_ = false;
  bool begun_ = false;  // the stream
  bool over_ = false;
};

}  // namespace puna::server
