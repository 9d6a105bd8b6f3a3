#include "manager/downloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace puna::manager {

using base::ErrorCode;
using base::Result;

Downloads::Downloads(Pull pull, Told told) : pull_(std::move(pull)), told_(std::move(told)) {}

Downloads::~Downloads() { stop(); }

void Downloads::stop() {
  std::list<Running> rest;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Running& each : running_) each.cancelled = true;
    rest.swap(running_);
  }
  join(rest);
}

void Downloads::join(std::list<Running>& over) {
  for (Running& each : over) each.thread.join();
}

Downloads::Running* Downloads::find(std::string_view name) {
  const auto found = std::ranges::find_if(running_, [&](const Running& each) {
    return !each.over && api::same_name(each.download.name, name);
  });
  return found == running_.end() ? nullptr : &*found;
}

Result<void> Downloads::start(std::string_view name, std::string stored_as) {
  if (!pull_) return base::fail(ErrorCode::kUnsupported, "This server downloads no models.");
  std::list<Running> over;
  std::unique_lock lock(mutex_);
  if (stopped_) return base::fail(ErrorCode::kCancelled, "The server is being shut down.");
  if (find(name)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The model \"{}\" is being downloaded already.", name));
  }
  if (std::ranges::count(running_, false, &Running::over) >= static_cast<ptrdiff_t>(kMost)) {
    return base::fail(ErrorCode::kOutOfMemory,
                      fmt::format("{} models are being downloaded, which is as many as at once may "
                                  "be; \"{}\" has to wait for one of them.",
                                  kMost, name));
  }
  for (auto each = running_.begin(); each != running_.end();) {
    const auto one = each++;
    if (one->over) over.splice(over.end(), running_, one);
  }
  Running& running = running_.emplace_back();
  running.download.name = name;
  running.thread =
      std::thread([this, &running, stored_as = std::move(stored_as)] { run(running, stored_as); });
  // They may still be telling how they ended, to somebody who asks for the list: not with the
  // mutex.
  lock.unlock();
  join(over);
  return {};
}

void Downloads::run(Running& running, const std::string& stored_as) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kBetweenWords{100};
  Clock::time_point last{};
  const OnFile on_file = [&](const std::string& file, api::FileProgress progress) {
    Download now;
    {
      const std::lock_guard lock(mutex_);
      api::FileProgress& known = running.download.files[file];
      if (known == progress) return;
      known = progress;
      if (Clock::now() - last < kBetweenWords && progress.done < progress.total) return;
      now = running.download;
    }
    last = Clock::now();
    told_.progress(now);
  };
  const Result<void> done = pull_(stored_as, on_file, running.cancelled);
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    running.over = true;
    name = running.download.name;
  }
  told_.ended(name, done);
}

bool Downloads::cancel(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Running* const running = find(name);
  if (running) running->cancelled = true;
  return running != nullptr;
}

std::vector<Downloads::Download> Downloads::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Download> out;
  for (const Running& each : running_) {
    if (!each.over) out.push_back(each.download);
  }
  return out;
}

}  // namespace puna::manager
