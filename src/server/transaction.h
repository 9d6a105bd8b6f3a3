// One request from when it has come until it is answered: on a request thread it is read, its model
// found, its endpoint called and its texts prepared; then its texts are carried (texts_run.h) on
// the thread of its connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "base/clock.h"
#include "server/core.h"
#include "server/model_events.h"
#include "server/request_log.h"
#include "server/run.h"
#include "server/stream_reader.h"
#include "server/texts_run.h"
#include "server/wire.h"
#include "service/prepare.h"

namespace puna::server {

class Transaction final : public Work, public std::enable_shared_from_this<Transaction> {
 public:
  // On the thread of the connection, where it is answered.
  static void start(std::shared_ptr<Core> core, Incoming incoming,
                    std::shared_ptr<Responder> responder);
  Transaction(std::shared_ptr<Core> core, Incoming incoming, std::shared_ptr<Responder> responder);
  ~Transaction() override;

  // Work:
  void left() override;
  void room() override;
  void quiet() override;
  void stop() override;

 private:
  // On a request thread, one after the other:
  void read();
  void find_model();
  void call(const api::ModelLease& model);
  // Has the files of texts encoded, then goes on with prepare().
  void take_media(api::Texts texts, const api::ModelLease& model);
  struct WithMedia;
  void fetch_media(const std::shared_ptr<WithMedia>& work);
  void wait_for_turn(const std::shared_ptr<WithMedia>& work);
  void read_media(const std::shared_ptr<WithMedia>& work);
  void encode_media(const std::shared_ptr<WithMedia>& work);
  void prepare(api::Texts texts, const api::ModelLease& model);
  void run_job(api::Job job, const api::ModelLease& model);
  void forward(const api::ModelLease& model);
  void run_long(api::LongWork work);
  void end_upload();
  void answer(Streams what);
  api::Call call_of(const api::ServedModel* model) const;
  // The name in the request; empty where there is none. Errors: kInvalidArgument for no text.
  base::Result<std::string> model_name() const;
  // How the request wants its model. Errors: kInvalidArgument naming the field.
  base::Result<api::ModelWish> model_wish() const;

  // Any thread: the end of it.
  void answer(api::HttpReply reply);
  void answer(const base::Error& error) { answer(error_reply(incoming_.dialect, error)); }
  // The model of that name is not to be had.
  void refuse_model(std::string_view name, const base::Error& error);
  void give_up();  // for a client that has left
  // Where the request is for a stream that is to outlive its client. Errors: kInvalidArgument.
  base::Result<void> keep_stream();
  // Stands for a text that is kept until it begins.
  class Waiting;
  // What the server calls it that has sent it on; null: none has.
  const std::string* run_name() const;
  // Of a request of so many texts; a job counts as one. Null: it was answered, since too many wait.
  std::shared_ptr<TextsCount> count_texts(uint32_t n);
  // Of its body, what is needed here. Errors: kCorrupt.
  base::Result<base::Json> read_body() const;
  // For its model, before it came here from another server of ours.
  double waited_elsewhere_ms() const;
  // On the thread of the connection:
  void wait_for_model(std::shared_ptr<void> waiting);
  // Of a text that is kept, before it begins.
  void stop_waiting(const base::Error& error);
  void watch_models();
  using MakeRun = std::function<std::shared_ptr<Run>(std::shared_ptr<Responder>, OnEnd)>;
  void run(const std::string& model, const MakeRun& make);
  void run_kept(const MakeRun& make);
  void write_line(std::string line);
  void end_long(const base::Result<void>& done, const base::Json& last, bool stream);
  void read_stream(std::shared_ptr<KeptStream> stream, uint64_t from);
  void end(const Totals& totals, int status);
  void end(int status);

  const std::shared_ptr<Core> core_;
  const Incoming incoming_;
  const std::shared_ptr<Responder> responder_;
  base::Json body_;
  base::Timer since_asked_;  // for its model
  double load_ms_ = 0;       // until that was there
  std::atomic<bool> left_ = false;
  std::atomic<bool> has_model_ = false;    // or knows that there is none
  std::shared_ptr<KeptStream> kept_;       // where its texts go on without its client
  std::shared_ptr<TextsCount> job_count_;  // until its job has ended

  // Of the connection's thread:
  std::shared_ptr<Run> run_;              // once its texts are prepared, unless they are kept
  std::shared_ptr<StreamReader> reader_;  // of a stream that is kept
  std::shared_ptr<void> waiting_;         // for its model
  std::shared_ptr<ModelEvents> events_;   // where it watches models
  RequestOutcome outcome_;
  bool begun_ = false;  // the stream of a work
  bool costs_ = false;  // what is under way is of no use without a reader
  bool over_ = false;
};

}  // namespace puna::server
