#include "server/stream_store.h"

#include <algorithm>
#include <vector>

namespace puna::server {

StreamStore::StreamStore(const StreamOptions& options)
    : options_(options),
      now_(options.now ? options.now : [] { return KeptStream::Clock::now(); }),
      used_bytes_(std::make_shared<std::atomic<size_t>>(0)) {}

std::shared_ptr<KeptStream> StreamStore::open(Name name, std::shared_ptr<Responder> owner) {
  sweep();
  auto out = std::make_shared<KeptStream>(KeptStream::Setup{.ring_bytes = options_.ring_bytes,
                                                            .now = now_,
                                                            .used_bytes = used_bytes_,
                                                            .most_bytes = options_.most_bytes,
                                                            .too_many = [this] { sweep(); }},
                                          std::move(owner));
  const std::lock_guard lock(mutex_);
  coming_.emplace(out, std::move(name));
  return out;
}

void StreamStore::show(const std::shared_ptr<KeptStream>& stream) {
  std::shared_ptr<KeptStream> before;
  {
    const std::lock_guard lock(mutex_);
    auto node = coming_.extract(stream);
    if (node.empty()) return;
    auto& place = shown_[std::move(node.mapped())];
    before = std::exchange(place, stream);
    if (before) ending_.insert(before);
  }
  if (before) before->stop();
}

void StreamStore::forget(const std::shared_ptr<KeptStream>& stream) {
  const std::lock_guard lock(mutex_);
  coming_.erase(stream);
  ending_.erase(stream);
}

std::shared_ptr<KeptStream> StreamStore::find(const Name& name) {
  sweep();
  const std::lock_guard lock(mutex_);
  const auto found = shown_.find(name);
  return found == shown_.end() ? nullptr : found->second;
}

bool StreamStore::is_coming(const Name& name) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(coming_, [&](const auto& each) { return each.second == name; });
}

void StreamStore::stop(const Name& name) {
  std::vector<std::shared_ptr<KeptStream>> stopped;
  {
    const std::lock_guard lock(mutex_);
    if (auto node = shown_.extract(name); !node.empty()) stopped.push_back(node.mapped());
    for (auto at = coming_.begin(); at != coming_.end();) {
      const auto here = at++;
      if (here->second != name) continue;
      stopped.push_back(here->first);
      coming_.erase(here);
    }
    ending_.insert(stopped.begin(), stopped.end());
  }
  for (const auto& stream : stopped) stream->stop();
}

void StreamStore::sweep() {
  Streams dropped;  // without the lock, since they have much to free
  const std::lock_guard lock(mutex_);
  sweep(dropped);
}

void StreamStore::sweep(Streams& dropped) {
  const auto now = now_();
  // The oldest first.
  std::vector<std::pair<KeptStream::Clock::time_point, Name>> done;
  for (const auto& [name, stream] : shown_) {
    const KeptStream::Status status = stream->status();
    if (status.done) done.emplace_back(status.last, name);
  }
  std::ranges::sort(done);
  size_t used = *used_bytes_, n = shown_.size();
  for (const auto& [last, name] : done) {
    if (now - last < options_.kept && n <= options_.most && used <= options_.most_bytes) break;
    auto node = shown_.extract(name);
    used -= std::min(used, node.mapped()->kept_bytes());
    --n;
    dropped.insert(std::move(node.mapped()));
  }
  // Texts under way share what is left.
  if (used > options_.most_bytes) {
    for (const auto& [name, stream] : shown_) stream->shrink(options_.most_bytes / shown_.size());
  }
  std::erase_if(ending_, [](const auto& stream) { return stream->status().done; });
}

void StreamStore::stop_unread() {
  std::vector<std::shared_ptr<KeptStream>> unread;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, stream] : shown_) {
      if (stream->status().n_readers == 0) unread.push_back(stream);
    }
  }
  for (const auto& stream : unread) stream->stop();
}

void StreamStore::shut_down() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, stream] : shown_) stream->shut_down();
  for (const auto& [stream, name] : coming_) stream->shut_down();
  for (const auto& stream : ending_) stream->shut_down();
}

void StreamStore::clear() {
  Streams all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, stream] : shown_) all.insert(stream);
    for (const auto& [stream, name] : coming_) all.insert(stream);
    all.merge(ending_);
    shown_.clear();
    coming_.clear();
    ending_.clear();
  }
  for (const auto& stream : all) stream->abandon();
}

}  // namespace puna::server
