#include "service/host_thread.h"

#include <future>
#include <utility>

#include "service/request_media.h"

namespace puna::service {

using base::Result;

HostThread::HostThread(LoadedModel model, HostOptions options)
    : Host(std::move(model), options), thread_([this] { run(); }) {}

HostThread::~HostThread() { stop(); }

void HostThread::stop() {
  cancel_all();
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void HostThread::run() {
  while (!is_over()) {
    if (is_idle()) {
      inbox().wait();
    } else {
      poll();
    }
    turn();
  }
}

Result<void> encode_media(HostThread& host, std::span<Request> requests) {
  if (!RequestMedia::any(requests)) return {};
  RequestMedia media = RequestMedia::find(host.model(), requests);
  PUNA_TRY(media.read(host.model(), requests));
  if (!media.is_encoded()) {
    static constexpr std::atomic<bool> kNever = false;
    std::promise<Result<bool>> encoded;
    host.post_job<bool>(
        [&media](LoadedModel& model) -> base::Task<Result<bool>> {
          PUNA_CO_TRY(co_await media.encode(model, kNever));
          co_return true;
        },
        [&encoded](Result<bool> done) { encoded.set_value(std::move(done)); });
    PUNA_TRY(encoded.get_future().get());
  }
  media.place(requests);
  return {};
}

Result<Reply> run(HostThread& host, Prepared prepared, const OnEvent& on_event) {
  PUNA_TRY(const std::unique_ptr<Answer> answer, host.post(std::move(prepared)));
  for (;;) {
    while (const auto event = answer->next()) {
      if (on_event) on_event(*event);
    }
    if (answer->ended()) return answer->reply();
    answer->wait();
  }
}

Result<Reply> run(HostThread& host, Request request, const OnEvent& on_event) {
  PUNA_TRY(encode_media(host, std::span(&request, 1)));
  PUNA_TRY(Prepared prepared, prepare(host.model(), std::move(request)));
  return run(host, std::move(prepared), on_event);
}

}  // namespace puna::service
