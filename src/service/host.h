// Host: one loaded model, and the one thread that touches its engine. Requests and jobs come from
// any thread; each request is answered through a handle of its own (answer.h), whose reader may be
// slow, gone, or an event loop. Two forms: host_thread.h gives the engine a thread, host_here.h
// runs it on the thread that there is. Read next: answer.h, inbox.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "service/answer.h"
#include "service/inbox.h"
#include "service/model.h"
#include "service/prepare.h"

namespace puna::service {

struct HostOptions {
  // Pieces of a text, one a token, that wait for its reader; then it is held.
  size_t n_queued = 64;
};

// As of the last step, or the last text or job that ended: without what was posted since then.
struct HostStatus {
  uint32_t n_waiting = 0;  // texts that have no sequence now
  uint32_t n_running = 0;  // texts that have one
  uint32_t n_held = 0;     // of both, those whose readers are behind
  uint32_t n_jobs = 0;
  // Since the start:
  uint64_t n_prompt_tokens = 0;  // of texts that have ended: evaluated
  uint64_t n_cached_tokens = 0;  // and known before
  uint64_t n_generated_tokens = 0;
  uint64_t n_media_encoded = 0;  // pictures and sounds that went through an encoder
  uint64_t n_media_found = 0;    // and that were known before
  // Pages of the cache: of running texts; with nothing in them. What is known of ended texts has
  // the rest.
  uint32_t n_pages = 0, n_pages_in_use = 0, n_pages_free = 0;
  uint32_t page_tokens = 0;       // that a page holds
  engine::StepWatch::Look steps;  // as of now
  bool closed = false;            // no more is taken
  bool device_lost = false;       // what is posted ends with that error
};

class Host {
 public:
  virtual ~Host() = default;  // after stop()
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // For prepare(), and for reading what was fixed when it was loaded.
  const LoadedModel& model() const { return model_; }

  // Any thread. Errors: kCancelled after drain() or stop(); those of the text come with the answer.
  base::Result<std::unique_ptr<Answer>> post(Prepared prepared, OnReady on_ready = {});

  // Something else that uses the model (embed.h, bench.h, kept.h), on the thread of the engine,
  // between two steps. Any thread may post it; `done` is called on the engine's, or here with
  // kCancelled when nothing is taken any more. A job that is under way when the host stops runs to
  // its end.
  template <class T>
  using Job = std::function<base::Task<base::Result<T>>(LoadedModel& model)>;
  template <class T>
  void post_job(Job<T> job, const std::function<void(base::Result<T>)>& done);

  // Any thread. Nothing more is taken; `drained` is called, on the engine's thread or here, once
  // all that is under way has ended. A text that nobody reads does not: stop() is for that.
  void drain(const std::function<void()>& drained = {});
  // Nothing more is taken; what is under way ends as cancelled.
  virtual void stop() = 0;

  // Any thread; never waits for the engine.
  HostStatus status() const;

 protected:
  Host(LoadedModel model, HostOptions options);

  Inbox& inbox() { return *inbox_; }
  // Any thread: stop(), but for waiting.
  void cancel_all();
  // The thread of the engine:
  // Starts what was posted, and has texts go on whose controls were changed.
  void turn();
  // Whether nothing goes on before the next turn, so that it need not be polled.
  bool is_idle() const { return model_.scheduler->is_idle(); }
  void poll() { model_.poll(); }
  // Whether it was stopped and all has ended; then nothing can be left for it any more.
  bool is_over();

 private:
  base::Error refusal() const;
  void take_in();
  void begin(const std::shared_ptr<Channel>& channel, Prepared prepared);
  void end(const std::shared_ptr<Channel>& channel, base::Result<engine::GenerateStats> result);
  template <class T>
  void run_job(const std::shared_ptr<const Job<T>>& job,
               const std::function<void(base::Result<T>)>& done);
  // After a text or a job: tells who waits for all of them.
  void settle();
  void note(const base::Error& error);
  void publish();

  LoadedModel model_;
  const HostOptions options_;
  const std::shared_ptr<Inbox> inbox_;  // answers have it too
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> n_generated_ = 0;

  // Of the thread of the engine:
  std::set<std::shared_ptr<Channel>> channels_;  // of texts under way
  uint32_t n_jobs_ = 0;                          // under way
  std::vector<std::function<void()>> drained_;

  mutable std::mutex status_mutex_;
  HostStatus status_;
};

template <class T>
void Host::post_job(Job<T> job, const std::function<void(base::Result<T>)>& done) {
  auto shared = std::make_shared<const Job<T>>(std::move(job));
  if (!inbox_->post([this, shared, done] { run_job<T>(shared, done); }))
    done(std::unexpected(refusal()));
}

template <class T>
void Host::run_job(const std::shared_ptr<const Job<T>>& job,
                   const std::function<void(base::Result<T>)>& done) {
  if (stopping_) return done(std::unexpected(refusal()));
  ++n_jobs_;
  // The task may refer to what the job has captured, so that stays as long.
  base::deliver<base::Result<T>>((*job)(model_), [this, job, done](base::Result<T> result) {
    --n_jobs_;
    if (!result) note(result.error());
    publish();
    done(std::move(result));
    settle();
  });
}

}  // namespace puna::service
