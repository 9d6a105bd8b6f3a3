#include "manager/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace puna::manager {

using base::ErrorCode;

namespace {

void add_to(Footprint& sum, const Footprint& more) {
  for (const auto& [device, bytes] : more) sum[device] += bytes;
}

uint64_t on(const Footprint& footprint, std::string_view device) {
  const auto found = footprint.find(device);
  return found == footprint.end() ? 0 : found->second;
}

// What is wrong with a model's file or settings is no fault of the requests that want it.
base::Error of_set_up(base::Error error) {
  switch (error.code) {
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
    case ErrorCode::kInvalidArgument:
      error.code = ErrorCode::kSetUp;
      break;
    default:
      break;
  }
  return error;
}

int64_t seconds_of(Milliseconds time) { return (time.count() + 999) / 1000; }

}  // namespace

void Registry::remove(const std::string& id, Time now) {
  const auto found = models_.find(id);
  if (found == models_.end()) return;
  Model& model = found->second;
  model.removed = true;
  model.asked.reset();
  refuse_all(model, {ErrorCode::kNotFound, fmt::format("The model \"{}\" is gone.", id), {}});
  advance(now);
}

void Registry::renew(const std::string& id, Time now) {
  Entry& entry = *models_.find(id);
  Model& model = entry.second;
  model.need.reset();
  model.measures_old = model.measuring;
  drop(entry);
  model.retry_at = Time(0);
  if (holds_memory(model.state)) model.goes_idle = true;
  advance(now);
}

uint64_t Registry::want(const std::string& id, Want want, Time now) {
  Model& model = models_.at(id);
  const uint64_t ticket = ++last_ticket_;
  const auto refuse = [&](base::Error error) {
    orders_.emplace_back(Refuse{ticket, std::move(error)});
    return ticket;
  };
  if (model.state == State::kLoaded && !model.yields) {
    tickets_.emplace(ticket, Ticket{id, want});
    grant(ticket, now);
    return ticket;
  }
  if (model.state == State::kFailed && now < model.retry_at && !model.wanted()) {
    base::Error error = *model.error;
    error.context.push_back(
        fmt::format("It is tried again in {} s", seconds_of(model.retry_at - now)));
    return refuse(std::move(error));
  }
  if (tickets_.size() >= limits_.n_queued) {
    return refuse({ErrorCode::kOutOfMemory,
                   fmt::format("{} requests wait for models already, which is the most; try again "
                               "later.",
                               tickets_.size()),
                   {}});
  }
  tickets_.emplace(ticket, Ticket{id, want});
  model.waiting.push_back(ticket);
  advance(now);
  return ticket;
}

void Registry::leave(uint64_t ticket, Time now) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  std::erase(models_.at(found->second.id).waiting, ticket);
  tickets_.erase(found);
  advance(now);
}

void Registry::release(const std::string& id, bool use, Time now) {
  Model& model = models_.at(id);
  PUNA_CHECK(model.n_leases > 0);
  --model.n_leases;
  if (use) model.used_at = now;
  advance(now);
}

void Registry::load(const std::string& id, Time now) {
  Model& model = models_.at(id);
  model.goes_idle = false;
  if (model.state == State::kLoaded || model.state == State::kLoading) return;
  if (!model.asked) model.asked = ++last_ticket_;
  advance(now);
}

bool Registry::unload(const std::string& id, Time now) {
  Entry& entry = *models_.find(id);
  Model& model = entry.second;
  const bool was_asked = model.asked.has_value();
  model.asked.reset();
  switch (model.state) {
    case State::kLoaded:
      model.goes_idle = true;
      break;
    case State::kLoading:
      // Those who wait are served first.
      model.goes_idle = true;
      if (model.waiting.empty() && !model.stopping) apply(entry, Event::kGiveUp, now);
      break;
    case State::kSleeping:
      apply(entry, Event::kGo, now, "it was unloaded");
      break;
    default:
      if (!was_asked) return false;
  }
  advance(now);
  return true;
}

void Registry::measured(const std::string& id, Footprint need, std::optional<Footprint> kept,
                        Time now) {
  Entry& entry = *models_.find(id);
  Model& model = entry.second;
  model.measuring = false;
  model.kept = std::move(kept);
  model.kept_at = now;
  if (std::exchange(model.measures_old, false)) {
    drop(entry);
  } else {
    model.need = std::move(need);
  }
  advance(now);
}

void Registry::ready(const std::string& id, Footprint held, Time now) {
  Entry& entry = *models_.find(id);
  Model& model = entry.second;
  model.held = std::move(held);
  model.need = model.held;
  model.loaded_at = model.used_at = now;
  model.wish.reset();
  model.asked.reset();
  model.error.reset();
  ++model.n_loads;
  apply(entry, Event::kReady, now);
  advance(now);
}

void Registry::broken(const std::string& id, base::Error error, Time now) {
  Entry& entry = *models_.find(id);
  Model& model = entry.second;
  model.measuring = false;
  if (std::exchange(model.measures_old, false)) return advance(now);
  if (model.state == State::kLoading) {
    const bool stopped = model.stopping && error.code == ErrorCode::kCancelled;
    const bool no_room =
        error.code == ErrorCode::kOutOfMemory && !model.step_down && learn_limits(model);
    model.held.clear();
    if (stopped || no_room) {
      apply(entry, stopped ? Event::kStopped : Event::kNoRoom, now,
            no_room ? "there is no room for it beside others" : "");
      return advance(now);
    }
  }
  fail(entry, Event::kBroken, std::move(error), now);
  advance(now);
}

void Registry::died(const std::string& id, base::Error error, Time now) {
  const auto found = models_.find(id);
  if (found == models_.end() || found->second.state != State::kLoaded) return;
  Model& model = found->second;
  model.held.clear();
  if (now >= model.loaded_at + limits_.longest_pause) model.n_failures = 0;
  fail(*found, Event::kDied, std::move(error), now);
  advance(now);
}

void Registry::freed(const std::string& id, Time now) {
  Entry& entry = *models_.find(id);
  entry.second.held.clear();
  entry.second.n_failures = 0;  // it has gone as it should
  apply(entry, Event::kFreed, now);
  advance(now);
}

std::optional<Time> Registry::next_time(Time now) const {
  const bool some_wait =
      std::ranges::any_of(models_, [](const auto& each) { return each.second.wanted(); });
  std::optional<Time> out;
  const auto at = [&](Time time) {
    if (time > now && time != kForever) out = std::min(out.value_or(time), time);
  };
  for (const auto& [id, model] : models_) {
    if (model.kept) at(model.kept_at + limits_.measured_stays);
    if (model.state == State::kSleeping || (model.state == State::kLoaded && model.idle()))
      at(goes_at(model));
    if (model.state != State::kLoaded) continue;
    if (model.idle()) at(sleeps_at(model));
    if (some_wait) at(model.loaded_at + limits_.settled);
  }
  return out;
}

std::optional<Registry::Look> Registry::look(std::string_view id, Time now) const {
  const auto found = models_.find(id);
  if (found == models_.end() || found->second.removed) return {};
  const Model& model = found->second;
  Look out;
  out.state = model.state;
  out.failed = model.state == State::kFailed;
  if (out.failed) out.error = model.error;
  out.held = model.held;
  if (model.kept) add_to(out.held, *model.kept);
  out.n_leases = model.n_leases;
  out.n_waiting = model.waiting.size();
  const Milliseconds stay = stays(model);
  if (stay != kForever) {
    out.left = model.idle() ? std::max(model.used_at + stay - now, Milliseconds(0)) : stay;
  }
  if (model.goes_idle) out.left = Milliseconds(0);
  out.n_loads = model.n_loads;
  out.n_evictions = model.n_evictions;
  return out;
}

Footprint Registry::held() const {
  Footprint out;
  for (const auto& each : models_) {
    add_to(out, each.second.held);
    if (each.second.kept) add_to(out, *each.second.kept);
  }
  return out;
}

void Registry::apply(Entry& entry, Event event, Time now, std::string why) {
  auto& [id, model] = entry;
  const auto row = row_of(model.state, event);
  PUNA_CHECK(row.has_value());
  const bool changes = row->next != model.state || event == Event::kBroken;
  model.state = row->next;
  if (changes) {
    orders_.emplace_back(Changed{id, row->next, row->next == State::kFailed, std::move(why)});
  }
  switch (row->action) {
    case Action::kNothing:
      break;
    case Action::kLoad:
      model.stopping = model.goes_idle = false;
      orders_.emplace_back(Load{id, model.step_down});
      break;
    case Action::kServe:
      serve(entry, now);
      break;
    case Action::kRefuse:
      refuse_all(model, *model.error);
      break;
    case Action::kStop:
      model.stopping = true;
      orders_.emplace_back(StopLoad{id});
      break;
    case Action::kFree:
      orders_.emplace_back(Free{id});
      break;
  }
}

void Registry::serve(Entry& entry, Time now) {
  for (const uint64_t ticket : std::exchange(entry.second.waiting, {})) grant(ticket, now);
}

void Registry::refuse_all(Model& model, const base::Error& error) {
  for (const uint64_t ticket : std::exchange(model.waiting, {})) {
    tickets_.erase(ticket);
    orders_.emplace_back(Refuse{ticket, error});
  }
}

void Registry::grant(uint64_t ticket, Time now) {
  const auto found = tickets_.find(ticket);
  const auto [id, want] = found->second;
  tickets_.erase(found);
  Model& model = models_.at(id);
  ++model.n_leases;
  if (want.use) {
    model.used_at = now;
    const Milliseconds wish = want.keep_alive.value_or(limits_.keep_alive);
    if (want.keep_alive) model.goes_idle = wish <= Milliseconds(0);
    if (wish > Milliseconds(0)) model.wish = std::max(model.wish.value_or(wish), wish);
  }
  orders_.emplace_back(Grant{ticket, id});
}

void Registry::fail(Entry& entry, Event event, base::Error error, Time now) {
  Model& model = entry.second;
  model.error = of_set_up(std::move(error));
  model.asked.reset();
  model.need.reset();  // its file may be another by the next time
  Milliseconds pause = limits_.first_pause;
  for (uint32_t i = 0; i < model.n_failures && pause < limits_.longest_pause; ++i) pause *= 2;
  ++model.n_failures;
  model.retry_at = now + std::min(pause, limits_.longest_pause);
  apply(entry, event, now, model.error->text());
}

void Registry::advance(Time now) {
  end_idle(now);
  for (auto& each : models_) each.second.yields = false;
  Entry* const next = head();
  drop_kept(next, now);
  if (next) load_next(*next, now);
  for (Entry& each : models_) {
    if (each.second.state == State::kLoaded && !each.second.yields) serve(each, now);
  }
  forget_removed();
}

void Registry::end_idle(Time now) {
  for (Entry& each : models_) {
    Model& model = each.second;
    const bool over = model.removed || goes_at(model) <= now;
    if (model.state == State::kSleeping && over && !model.wanted())
      apply(each, Event::kForget, now, "nobody has used it for as long as it was to stay");
    if (model.state != State::kLoaded || !model.idle()) continue;
    if (model.goes_idle) {
      apply(each, Event::kGo, now, "it was to go when it is idle");
    } else if (!model.waiting.empty()) {
      continue;
    } else if (over) {
      apply(each, Event::kGo, now, "nobody has used it for as long as it was to stay");
    } else if (sleeps_at(model) <= now) {
      apply(each, Event::kSleep, now, "nobody uses it");
    }
  }
}

void Registry::drop_kept(const Entry* next, Time now) {
  for (Entry& each : models_) {
    const Model& model = each.second;
    if (&each != next || now >= model.kept_at + limits_.measured_stays) drop(each);
  }
}

void Registry::drop(Entry& entry) {
  if (!entry.second.kept) return;
  entry.second.kept.reset();
  orders_.emplace_back(Drop{entry.first});
}

void Registry::forget_removed() {
  std::erase_if(models_, [](const Entry& each) {
    const Model& model = each.second;
    return model.removed && !holds_memory(model.state) && !model.measuring && model.n_leases == 0;
  });
}

Registry::Entry* Registry::head() {
  Entry* out = nullptr;
  uint64_t first = UINT64_MAX;
  for (Entry& each : models_) {
    const Model& model = each.second;
    if (model.state == State::kLoaded || !model.wanted()) continue;
    uint64_t place = model.asked.value_or(UINT64_MAX);
    if (!model.waiting.empty()) place = std::min(place, model.waiting.front());
    if (place < first) {
      first = place;
      out = &each;
    }
  }
  return out;
}

void Registry::load_next(Entry& next, Time now) {
  for (Entry& each : models_) {
    Model& model = each.second;
    if (model.measuring) return;
    if (model.state != State::kLoading) continue;
    // One after the other. What nobody waits for keeps nobody waiting.
    if (!model.wanted() && !model.stopping) apply(each, Event::kGiveUp, now);
    return;
  }
  Model& model = next.second;
  if (holds_memory(model.state)) return;  // what it was is being freed
  if (!model.need) {
    model.measuring = true;
    orders_.emplace_back(Measure{next.first});
    return;
  }
  make_room(next, now);
}

void Registry::make_room(Entry& wanted, Time now) {
  Model& model = wanted.second;
  const Footprint need = within_limits(*model.need);
  if (fits(need, model.kept.value_or(Footprint()), 0)) {
    model.kept.reset();  // it is loaded with that
    const Footprint others = held();
    model.step_down =
        std::ranges::none_of(need, [&](const auto& each) { return on(others, each.first) > 0; });
    model.held = need;
    return apply(wanted, Event::kRoom, now);
  }
  const auto going = victims(wanted, need, now);
  if (!going) return;
  const bool all_idle =
      std::ranges::all_of(*going, [](const Entry* each) { return each->second.idle(); });
  for (Entry* each : *going) {
    if (!all_idle) {
      each->second.yields = true;
      continue;
    }
    ++each->second.n_evictions;
    apply(*each, Event::kGo, now, fmt::format("its room is wanted for {}", wanted.first));
  }
}

std::optional<std::vector<Registry::Entry*>> Registry::victims(const Entry& wanted,
                                                               const Footprint& need, Time now) {
  // What is kept for it is of what it needs.
  Footprint gone = wanted.second.kept.value_or(Footprint());
  size_t n_gone = 0;
  std::vector<Entry*> candidates;
  for (Entry& each : models_) {
    const Model& model = each.second;
    if (&each == &wanted || !holds_memory(model.state)) continue;
    if (model.state != State::kLoaded) {
      add_to(gone, model.held);
      ++n_gone;
    } else if (model.idle() || now >= model.loaded_at + limits_.settled) {
      candidates.push_back(&each);
    }
  }
  std::ranges::stable_sort(candidates, {}, [](const Entry* each) {
    return std::pair(!each->second.idle(), each->second.used_at);
  });
  std::vector<Entry*> out;
  for (Entry* each : candidates) {
    if (fits(need, gone, n_gone)) break;
    add_to(gone, each->second.held);
    ++n_gone;
    out.push_back(each);
  }
  if (!fits(need, gone, n_gone)) return {};
  // A large one at the end may make some before it unnecessary.
  for (size_t i = out.size(); i-- > 0;) {
    Footprint fewer = gone;
    for (const auto& [device, bytes] : out[i]->second.held) fewer[device] -= bytes;
    if (!fits(need, fewer, n_gone - 1)) continue;
    gone = std::move(fewer);
    --n_gone;
    out.erase(out.begin() + static_cast<ptrdiff_t>(i));
  }
  return out;
}

bool Registry::fits(const Footprint& need, const Footprint& gone, size_t n_gone) const {
  const auto n_held = static_cast<size_t>(std::ranges::count_if(
      models_, [](const auto& each) { return holds_memory(each.second.state); }));
  if (limits_.n_models > 0 && n_held - n_gone >= limits_.n_models) return false;
  const Footprint all = held();
  return std::ranges::all_of(need, [&](const auto& each) {
    const auto limit = limits_.bytes.find(each.first);
    return limit == limits_.bytes.end() ||
           on(all, each.first) - on(gone, each.first) + each.second <= limit->second;
  });
}

Footprint Registry::within_limits(Footprint need) const {
  for (auto& [device, bytes] : need) {
    const auto limit = limits_.bytes.find(device);
    if (limit != limits_.bytes.end()) bytes = std::min(bytes, limit->second);
  }
  return need;
}

bool Registry::learn_limits(const Model& model) {
  const Footprint all = held();
  const bool on_gpu = std::ranges::any_of(
      model.held, [](const auto& each) { return each.first != kHost && each.second > 0; });
  bool learned = false;
  for (const auto& [device, bytes] : model.held) {
    const uint64_t others = on(all, device) - bytes;
    if (others == 0 || bytes == 0 || (on_gpu && device == kHost)) continue;
    const uint64_t most = others + bytes - 1;
    const auto [limit, is_new] = limits_.bytes.emplace(device, most);
    limit->second = std::min(limit->second, most);
    learned = true;
  }
  return learned;
}

Milliseconds Registry::stays(const Model& model) const {
  return model.wish.value_or(limits_.keep_alive);
}

Time Registry::goes_at(const Model& model) const {
  const Milliseconds stay = stays(model);
  return stay == kForever ? kForever : model.used_at + stay;
}

Time Registry::sleeps_at(const Model& model) const {
  return limits_.sleep_after == kForever ? kForever : model.used_at + limits_.sleep_after;
}

}  // namespace puna::manager
