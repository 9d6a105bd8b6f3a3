#include "service/hosts.h"

#include <algorithm>
#include <utility>

namespace puna::service {
namespace {

uint64_t room_of(const HostStatus& status) { return uint64_t{status.n_pages} * status.page_tokens; }

}  // namespace

Hosts::Hosts(std::vector<Host*> all)
    : all_(std::move(all)),
      placing_(all_.size(), room_of(all_.front()->status())),
      n_texts_(all_.size()) {}

Hosts::Part::~Part() {
  const std::lock_guard lock(hosts_.mutex_);
  --hosts_.n_texts_[index_];
}

bool Hosts::Part::may_move() const {
  if (!host().status().device_lost) return false;
  return std::ranges::any_of(hosts_.all_, [](Host* each) { return !each->status().device_lost; });
}

std::unique_ptr<Hosts::Part> Hosts::take(std::span<const int32_t> prompt) {
  const std::lock_guard lock(mutex_);
  size_t index = 0;
  if (all_.size() > 1) {
    index = placing_.choose(prompt, candidates());
    placing_.note(index, prompt);
  }
  ++n_texts_[index];
  return std::unique_ptr<Part>(new Part(*this, index));
}

Host& Hosts::nearest(std::span<const int32_t> text) const {
  if (all_.size() == 1) return first();
  const std::lock_guard lock(mutex_);
  std::vector<Placing::Candidate> hosts = candidates();
  // Nothing new is to be read of it, whatever else they do.
  for (Placing::Candidate& each : hosts) {
    if (!text.empty()) each = {.free_tokens = text.size(), .lost = each.lost};
  }
  return *all_[placing_.choose(text, hosts)];
}

void Hosts::note(const LoadedModel& model, std::span<const int32_t> text) {
  if (all_.size() == 1) return;
  const auto of = [](const Host* each) { return &each->model(); };
  const auto host = std::ranges::find(all_, &model, of);
  const std::lock_guard lock(mutex_);
  placing_.note(static_cast<size_t>(host - all_.begin()), text);
}

std::vector<Placing::Candidate> Hosts::candidates() const {
  std::vector<Placing::Candidate> out;
  for (size_t i = 0; i < all_.size(); ++i) {
    const HostStatus status = all_[i]->status();
    const uint64_t taken = uint64_t{status.n_pages_in_use} * status.page_tokens;
    out.push_back({.n_texts = n_texts_[i],
                   .free_tokens = room_of(status) - taken,
                   .lost = status.device_lost});
  }
  return out;
}

HostStatus Hosts::status() const {
  HostStatus out = first().status();
  for (const Host* each : std::span(all_).subspan(1)) {
    const HostStatus status = each->status();
    out.n_waiting += status.n_waiting;
    out.n_running += status.n_running;
    out.n_held += status.n_held;
    out.n_jobs += status.n_jobs;
    out.n_prompt_tokens += status.n_prompt_tokens;
    out.n_cached_tokens += status.n_cached_tokens;
    out.n_generated_tokens += status.n_generated_tokens;
    out.n_media_encoded += status.n_media_encoded;
    out.n_media_found += status.n_media_found;
    out.n_pages += status.n_pages;
    out.n_pages_in_use += status.n_pages_in_use;
    out.n_pages_free += status.n_pages_free;
    out.steps.n_steps += status.steps.n_steps;
    out.steps.n_texts += status.steps.n_texts;
    out.closed = out.closed && status.closed;
    out.device_lost = out.device_lost && status.device_lost;
  }
  return out;
}

}  // namespace puna::service
