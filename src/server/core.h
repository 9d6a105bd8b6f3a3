// What all requests of a server share.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "api/model_source.h"
#include "api/store_source.h"
#include "api/web_store.h"
#include "server/admission.h"
#include "server/guard.h"
#include "server/media_turns.h"
#include "server/metrics.h"
#include "server/named_runs.h"
#include "server/options.h"
#include "server/request_log.h"
#include "server/request_pool.h"
#include "server/reuse_log.h"
#include "server/routes.h"
#include "server/stream_store.h"
#include "server/work_threads.h"

namespace puna::server {

struct Core {
  explicit Core(const Options& the_options)
      : options(the_options),
        guard(options),
        log(options.on_request, options.behind_server),
        media_turns(options.queue),
        streams(options.streams),
        pool(options.n_threads, options.queue) {}

  const Options options;
  Guard guard;
  RequestLog log;
  Metrics metrics;
  Admission admission;
  ReuseLog reuse;
  MediaTurns media_turns;
  StreamStore streams;
  NamedRuns named_runs;
  // Null while it is being loaded.
  std::atomic<api::ModelSource*> models = nullptr;
  std::atomic<api::StoreSource*> store = nullptr;   // null: there is none
  std::atomic<api::WebStore*> web_store = nullptr;  // null: there is none
  // What the server says of itself (front.h).
  std::function<api::HttpReply(Own own)> answer;
  std::atomic<bool> draining = false;
  std::atomic<uint32_t> n_texts = 0;  // that wait or run, of all models

  // Requests that are being answered.
  class Pending {
   public:
    void begin() {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    void end() {
      const std::lock_guard lock(mutex_);
      if (--count_ == 0) none_.notify_all();
    }
    // False: not in time.
    bool wait(std::chrono::milliseconds time) {
      std::unique_lock lock(mutex_);
      return none_.wait_for(lock, time, [&] { return count_ == 0; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable none_;
    uint32_t count_ = 0;
  };
  Pending pending;

  WorkThreads works;
  RequestPool pool;  // last: what waits in it refers to the rest
};

}  // namespace puna::server
