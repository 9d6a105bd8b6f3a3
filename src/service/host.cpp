#include "service/host.h"

#include <fmt/format.h>

#include <algorithm>

#include "service/respond.h"
#include "service/senses.h"

namespace puna::service {

using base::Result;

Host::Host(LoadedModel model, HostOptions options)
    : model_(std::move(model)), options_(options), inbox_(std::make_shared<Inbox>()) {
  model_.scheduler->set_intake(
      {.pending = [this] { return inbox_->pending(); }, .take_in = [this] { take_in(); }});
  publish();
}

base::Error Host::refusal() const {
  return {base::ErrorCode::kCancelled,
          fmt::format("The model {} is being closed; it takes no more requests.", model_.name),
          {}};
}

Result<std::unique_ptr<Answer>> Host::post(Prepared prepared, OnReady on_ready) {
  auto& control = prepared.request.control;
  if (!control) control = std::make_shared<Control>();
  auto channel = std::make_shared<Channel>(options_.n_queued, control, std::move(on_ready));
  auto answer = std::make_unique<Answer>(channel, inbox_, prepared);
  // std::function wants what can be copied.
  auto shared = std::make_shared<Prepared>(std::move(prepared));
  if (inbox_->post([this, channel, shared] { begin(channel, std::move(*shared)); })) return answer;
  return std::unexpected(refusal());
}

void Host::begin(const std::shared_ptr<Channel>& channel, Prepared prepared) {
  channels_.insert(channel);
  if (stopping_) channel->control().cancel = true;
  const auto on_piece = [this, channel](Piece piece) {
    if (piece.chosen.id != kernels::kNoToken) ++n_generated_;
    channel->push(std::move(piece));
  };
  base::deliver<Result<engine::GenerateStats>>(
      respond(model_, std::move(prepared), on_piece,
              [channel](const engine::PromptProgress& progress) { channel->push(progress); }),
      [this, channel](Result<engine::GenerateStats> result) { end(channel, std::move(result)); });
}

void Host::end(const std::shared_ptr<Channel>& channel, Result<engine::GenerateStats> result) {
  channels_.erase(channel);
  if (result) {
    const std::lock_guard lock(status_mutex_);
    status_.n_prompt_tokens += result->n_prompt;
    status_.n_cached_tokens += result->n_cached;
  } else {
    note(result.error());
  }
  publish();
  channel->end(std::move(result));
  settle();
}

void Host::note(const base::Error& error) {
  const std::lock_guard lock(status_mutex_);
  if (error.code == base::ErrorCode::kDeviceLost) status_.device_lost = true;
}

void Host::drain(const std::function<void()>& drained) {
  const auto last = [this, drained] {
    if (drained) drained_.push_back(drained);
    settle();
  };
  if (!inbox_->close(last) && drained) drained();
}

void Host::cancel_all() {
  stopping_ = true;
  inbox_->close({});
}

void Host::settle() {
  if (!channels_.empty() || n_jobs_ > 0) return;
  for (const auto& drained : std::exchange(drained_, {})) drained();
}

void Host::take_in() {
  while (auto work = inbox_->take()) (*work)();
  if (stopping_) {
    for (const auto& channel : channels_) channel->control().cancel = true;
  }
  publish();
}

void Host::turn() {
  take_in();
  model_.scheduler->wake();
}

bool Host::is_over() {
  return stopping_ && channels_.empty() && n_jobs_ == 0 && is_idle() && inbox_->finish();
}

void Host::publish() {
  const engine::TextCache& cache = model_.engine->cache();
  const auto held = std::ranges::count_if(
      channels_, [](const auto& channel) { return channel->control().hold.load(); });
  const std::lock_guard lock(status_mutex_);
  const auto n_texts = static_cast<uint32_t>(channels_.size());
  status_.n_running = std::min(model_.scheduler->n_running(), n_texts);
  status_.n_waiting = n_texts - status_.n_running;
  status_.n_jobs = n_jobs_;
  status_.n_held = static_cast<uint32_t>(held);
  status_.n_pages = cache.n_pages();
  status_.page_tokens = kernels::kPageTokens;
  status_.n_pages_in_use = cache.n_pages() - cache.n_available();
  status_.n_pages_free = cache.n_free();
}

HostStatus Host::status() const {
  HostStatus out;
  {
    const std::lock_guard lock(status_mutex_);
    out = status_;
  }
  out.n_generated_tokens = n_generated_;
  if (model_.senses) {
    const Senses::Status senses = model_.senses->status();
    out.n_media_encoded = senses.n_encoded;
    out.n_media_found = senses.n_found;
  }
  out.steps = model_.scheduler->steps().look();
  out.closed = inbox_->closed();
  return out;
}

}  // namespace puna::service
