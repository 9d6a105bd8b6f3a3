// A request with pictures and sounds, until its texts can be prepared: files that are named by
// address are fetched, then all are decoded in a turn and encoded on the thread of the engine.
#include <atomic>
#include <memory>
#include <utility>

#include "base/task.h"
#include "server/media_fetch.h"
#include "server/transaction.h"
#include "service/request_media.h"

namespace puna::server {

using base::Result;

// What goes from thread to thread while files are encoded.
struct Transaction::WithMedia {
  api::Texts texts;
  api::ModelLease model;
  service::RequestMedia media;
  MediaTurns::Turn turn;
};

void Transaction::take_media(api::Texts texts, const api::ModelLease& model) {
  const service::LoadedModel& loaded = model->loaded();
  if (!service::RequestMedia::any(texts.requests)) return prepare(std::move(texts), model);
  auto media = service::RequestMedia::find(loaded, texts.requests);
  if (media.is_encoded()) {
    media.place(texts.requests);
    return prepare(std::move(texts), model);
  }
  const auto work = std::make_shared<WithMedia>(std::move(texts), model, std::move(media));
  responder_->post([self = shared_from_this()] {
    self->costs_ = true;
    if (self->left_) self->left();
  });
  if (core_->options.media_url && wants_fetching(work->texts.requests)) return fetch_media(work);
  wait_for_turn(work);
}

void Transaction::fetch_media(const std::shared_ptr<WithMedia>& work) {
  const auto self = shared_from_this();
  const bool started =
      core_->works.start(std::shared_ptr<std::atomic<bool>>(self, &left_), [self, work] {
        const auto fetched = server::fetch_media(work->texts.requests, {}, self->left_);
        self->core_->pool.go_on([self, work, fetched] {
          if (self->left_) return self->give_up();
          if (!fetched) return self->answer(fetched.error());
          self->wait_for_turn(work);
        });
      });
  if (started) return;
  answer(busy_reply(incoming_.dialect, "Too many files are fetched already; try again later."));
}

void Transaction::wait_for_turn(const std::shared_ptr<WithMedia>& work) {
  const auto self = shared_from_this();
  const bool waits = core_->media_turns.ask(incoming_.client, [self, work](MediaTurns::Turn turn) {
    work->turn = std::move(turn);
    self->core_->pool.go_on([self, work] { self->read_media(work); });
  });
  if (waits) return;
  answer(busy_reply(incoming_.dialect,
                    "Too many requests with pictures and sounds wait already; try again later."));
}

void Transaction::read_media(const std::shared_ptr<WithMedia>& work) {
  if (left_) return give_up();
  const auto read = work->media.read(work->model->loaded(), work->texts.requests);
  if (!read) return answer(read.error());
  encode_media(work);
}

void Transaction::encode_media(const std::shared_ptr<WithMedia>& work) {
  const auto self = shared_from_this();
  const auto encode = [work, self](service::LoadedModel& model) -> base::Task<Result<bool>> {
    PUNA_CO_TRY(co_await work->media.encode(model, self->left_));
    co_return true;
  };
  // It goes on on another thread than the engine's, which may not give back its own model.
  const auto go_on = [work, self](const Result<bool>& done) {
    self->core_->pool.go_on([work, self, done] {
      if (!done && self->left_) return self->give_up();
      if (!done) return self->answer(done.error());
      work->media.place(work->texts.requests);
      work->turn.reset();
      self->prepare(std::move(work->texts), work->model);
    });
  };
  work->model->hosts->first().post_job<bool>(encode, go_on);
}

}  // namespace puna::server
