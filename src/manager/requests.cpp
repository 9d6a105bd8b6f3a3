#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/errors.h"
#include "base/log.h"
#include "manager/shared.h"
#include "service/shown.h"
#include "store/store.h"

namespace puna::manager {

using api::ModelLease;
using base::ErrorCode;
using base::Result;

namespace {

Milliseconds time_of(double seconds) {
  constexpr double kMost = 1e9;
  if (seconds < 0 || seconds >= kMost) return kForever;
  return Milliseconds(static_cast<int64_t>(seconds * 1e3));
}

}  // namespace

void Manager::Shared::renew() {
  const std::lock_guard one_at_a_time(renewing_);
  Result<std::vector<Entry>> entries = options_.entries();
  if (!entries)
    return base::log_warning("The list of models stays as it was: {}", entries.error().text());
  std::map<std::string, Entry, std::less<>> next;
  for (Entry& entry : *entries) next.try_emplace(entry.id, std::move(entry));
  std::map<std::string_view, service::Takes> takes;
  for (const auto& [id, entry] : next) {
    if (options_.takes) takes.emplace(id, options_.takes(entry));
  }
  Lock lock(mutex_);
  bool changes = false;
  for (auto& [id, entry] : next) {
    const auto [known, is_new] = known_.try_emplace(id);
    const bool same = !is_new && registry_.knows(id) && known->second.entry.same_model(entry);
    changes |= !same;
    known->second.entry = std::move(entry);
    if (const auto found = takes.find(id); found != takes.end())
      known->second.takes = found->second;
    registry_.add(id);
    if (same) continue;
    bury(known->second);
    known->second.asleep.reset();
    registry_.renew(id, now());
  }
  for (auto each = known_.begin(); each != known_.end();) {
    if (!next.contains(each->first)) {
      changes |= registry_.look(each->first, now()).has_value();
      registry_.remove(each->first, now());
    }
    if (!registry_.knows(each->first)) bury(each->second);
    each = registry_.knows(each->first) ? std::next(each) : known_.erase(each);
  }
  if (changes) tell({.kind = api::ModelEvent::Kind::kOtherModels});
  go_on(lock);
}

const std::string* Manager::Shared::known_id(std::string_view name) const {
  for (const auto& [id, known] : known_) {
    if (known.entry.answers_to(name) && registry_.look(id, now())) return &id;
  }
  return nullptr;
}

base::Error Manager::Shared::unknown(std::string_view name) const {
  constexpr size_t kLongest = 300;
  std::vector<Entry> entries;
  for (const auto& [id, known] : known_) {
    if (registry_.look(id, now())) entries.push_back(known.entry);
  }
  const std::string near = nearest(name, entries);
  return {ErrorCode::kNotFound,
          fmt::format("There is no model \"{}\" here{}", name.substr(0, kLongest),
                      near.empty() ? "." : fmt::format("; did you mean \"{}\"?", near)),
          {}};
}

Result<std::string> Manager::Shared::find(std::string_view name, Lock& lock) {
  if (name.empty()) {
    if (known_.size() == 1 && registry_.look(known_.begin()->first, now()))
      return known_.begin()->first;
    return base::fail(ErrorCode::kInvalidArgument,
                      "The request names no model (\"model\" is missing), and there are several.");
  }
  const std::string* id = known_id(name);
  // What is not loaded may be another by now.
  const auto look = id ? registry_.look(*id, now()) : std::nullopt;
  if (look && (look->state == State::kLoaded || look->state == State::kLoading)) return *id;
  lock.unlock();
  renew();
  lock.lock();
  id = known_id(name);
  if (!id) return std::unexpected(unknown(name));
  return *id;
}

std::shared_ptr<void> Manager::Shared::acquire(const api::ModelWish& wish, Done done) {
  Lock lock(mutex_);
  const auto refuse = [&](base::Error error) {
    lock.unlock();
    done(std::unexpected(std::move(error)));
    return nullptr;
  };
  const Result<std::string> id = find(wish.name, lock);
  if (stopped_) return refuse(ending());
  if (!id) return refuse(id.error());
  const State state = registry_.look(*id, now())->state;
  const bool stays_so = state == State::kUnloaded || state == State::kFailed;
  if (stays_so && !wish.autoload.value_or(options_.autoload)) {
    return refuse(
        {ErrorCode::kInvalidArgument, fmt::format("The model \"{}\" is not loaded.", *id), {}});
  }
  Want want{.use = wish.use, .keep_alive = {}};
  if (wish.keep_alive) want.keep_alive = time_of(*wish.keep_alive);
  const uint64_t ticket = registry_.want(*id, want, now());
  waiting_.emplace(ticket, Waiting{std::move(done), wish.use});
  go_on(lock);
  return {static_cast<void*>(this),
          [self = shared_from_this(), ticket](void*) { self->leave(ticket); }};
}

std::vector<ModelLease> Manager::Shared::loaded() {
  const Lock lock(mutex_);
  std::vector<ModelLease> out;
  for (auto& each : known_) {
    if (each.second.instance) out.push_back(look_at(each.second.instance));
  }
  return out;
}

std::vector<api::ModelStatus> Manager::Shared::list() {
  const Lock lock(mutex_);
  std::vector<api::ModelStatus> out;
  for (auto& [id, known] : known_) {
    const auto look = registry_.look(id, now());
    if (!look) continue;
    const Entry& entry = known.entry;
    api::ModelStatus one{.id = id, .aliases = entry.aliases, .tags = entry.tags};
    one.state = state_of(look->state);
    if (look->error) one.error = api::without_paths(look->error->text());
    one.created = entry.created;
    one.digest = entry.digest;
    one.source = entry.source;
    one.preset = entry.preset;
    if (known.instance && look->state == State::kLoaded) one.model = look_at(known.instance);
    if (!one.model) {
      one.asleep = known.asleep;
      one.takes = known.takes;
    }
    if (look->left != kForever) one.seconds_left = static_cast<double>(look->left.count()) / 1e3;
    one.n_loads = look->n_loads;
    one.n_evictions = look->n_evictions;
    for (const auto& [device, bytes] : look->held) one.held.emplace(device, bytes);
    out.push_back(std::move(one));
  }
  for (Downloads::Download& each : downloads_.list()) {
    out.push_back({.id = each.name,
                   .aliases = {each.name},
                   .state = api::ModelState::kDownloading,
                   .source = std::string(store::origin_name(store::Origin::kPuna)),
                   .files = std::move(each.files)});
  }
  return out;
}

Result<api::ShownModel> Manager::Shared::show(std::string_view name) {
  Lock lock(mutex_);
  PUNA_TRY(const std::string id, find(name, lock));
  const Entry entry = known_.at(id).entry;
  lock.unlock();
  PUNA_TRY(service::ShownModel shown, service::show_model(entry.path));
  // Where it lies on this machine is said to nobody: its name stands for that.
  PUNA_TRY(service::ModelTexts texts, service::texts_of(shown, {id}));
  api::ShownModel out{.model = {.name = id, .digest = entry.digest, .modified_s = entry.created},
                      .file = std::move(shown.file),
                      .texts = std::move(texts)};
  out.model.card = std::move(shown.card);
  return out;
}

Result<void> Manager::Shared::load(std::string_view name) {
  Lock lock(mutex_);
  PUNA_TRY(const std::string id, find(name, lock));
  if (stopped_) return std::unexpected(ending());
  const State state = registry_.look(id, now())->state;
  if (state == State::kLoaded || state == State::kLoading) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The model \"{}\" is {} already.", id, name_of(state)));
  }
  registry_.load(id, now());
  go_on(lock);
  return {};
}

Result<void> Manager::Shared::unload(std::string_view name) {
  if (downloads_.cancel(name)) return {};
  Lock lock(mutex_);
  PUNA_TRY(const std::string id, find(name, lock));
  if (stopped_) return std::unexpected(ending());
  const bool was_loaded = registry_.unload(id, now());
  go_on(lock);
  if (was_loaded) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The model \"{}\" is not loaded.", id));
}

Result<void> Manager::Shared::download(std::string_view name, std::string_view stored_as) {
  PUNA_TRY(store::parse_name(stored_as));
  renew();
  Lock lock(mutex_);
  for (const std::string_view each : {name, stored_as}) {
    if (!known_id(each)) continue;
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The model \"{}\" is here already.", each));
  }
  lock.unlock();
  return downloads_.start(name, std::string(stored_as));
}

void Manager::Shared::progress(const Downloads::Download& download) {
  Lock lock(mutex_);
  tell({.kind = api::ModelEvent::Kind::kFetching,
        .id = download.name,
        .state = api::ModelState::kDownloading,
        .files = download.files});
  go_on(lock);
}

void Manager::Shared::ended(const std::string& name, const Result<void>& done) {
  using enum api::ModelEvent::Kind;
  if (done) {
    base::log_info("{} is downloaded.", name);
    renew();
  } else {
    base::log_warning("{} could not be downloaded: {}", name, done.error().text());
  }
  Lock lock(mutex_);
  tell({.kind = done ? kFetched : kNotFetched,
        .id = name,
        .error = done ? std::string() : api::without_paths(done.error().text())});
  go_on(lock);
}

Result<void> Manager::Shared::remove(std::string_view name) {
  std::string id(name);
  if (!downloads_.cancel(name)) {
    Lock lock(mutex_);
    PUNA_TRY(id, find(name, lock));
    const Entry entry = known_.at(id).entry;
    lock.unlock();
    if (!options_.remove || entry.source != store::origin_name(store::Origin::kPuna)) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("The model \"{}\" is not of Puna's store, so it cannot be "
                                    "deleted here.",
                                    id));
    }
    PUNA_TRY(options_.remove(entry.stored_as));
    renew();
  }
  Lock lock(mutex_);
  tell({.kind = api::ModelEvent::Kind::kRemoved, .id = id});
  go_on(lock);
  return {};
}

std::shared_ptr<void> Manager::Shared::listen(Told told) {
  const auto listener = std::make_shared<Listener>(std::move(told));
  const Lock lock(mutex_);
  std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
  listeners_.push_back(listener);
  return listener;
}

void Manager::Shared::look_at_clock() {
  Lock lock(mutex_);
  registry_.tick(now());
  go_on(lock);
}

}  // namespace puna::manager
