#include "manager/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "api/errors.h"
#include "base/clock.h"
#include "base/log.h"
#include "manager/asleep.h"
#include "service/shown.h"
#include "store/store.h"

namespace puna::manager {

using api::ModelLease;
using api::ServedModel;
using base::ErrorCode;
using base::Result;

namespace {

using Done = std::function<void(Result<ModelLease>)>;
using Told = std::function<void(const api::ModelEvent&)>;

Time steady_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

// Far enough, and near enough to be added to.
Milliseconds time_of(double seconds) {
  constexpr double kMost = 1e9;
  if (seconds < 0 || seconds >= kMost) return kForever;
  return Milliseconds(static_cast<int64_t>(seconds * 1e3));
}

api::ModelState state_of(State state) {
  switch (state) {
    case State::kLoading:
      return api::ModelState::kLoading;
    case State::kLoaded:
      return api::ModelState::kLoaded;
    case State::kFallingAsleep:
    case State::kSleeping:
      return api::ModelState::kSleeping;
    case State::kUnloaded:
    case State::kUnloading:
    case State::kFailed:
      break;
  }
  return api::ModelState::kUnloaded;
}

base::Error ending() { return {ErrorCode::kCancelled, "The server is being shut down.", {}}; }

void write_log(const Changed& change) {
  const std::string why = change.why.empty() ? "" : ": " + change.why;
  if (change.failed) {
    base::log_warning("{} could not be loaded{}", change.id, why);
  } else if (change.state == State::kLoading) {
    base::log_info("{} is being loaded.", change.id);
  } else if (change.state != State::kLoaded && !why.empty()) {
    base::log_info("{} is {} now{}.", change.id, name_of(change.state), why);
  }
}

}  // namespace

// What the threads, the requests and the leases share.
class Manager::Shared : public std::enable_shared_from_this<Shared> {
 public:
  Shared(Options options, std::shared_ptr<Loader> loader)
      : options_(std::move(options)),
        loader_(std::move(loader)),
        registry_(options_.limits),
        downloads_(options_.pull,
                   {.progress = [this](const auto& each) { progress(each); },
                    .ended = [this](const auto& name, const auto& done) { ended(name, done); }}) {}

  void begin();
  void stop();

  std::shared_ptr<void> acquire(const api::ModelWish& wish, Done done);
  std::vector<ModelLease> loaded();
  std::vector<api::ModelStatus> list();
  Result<void> load(std::string_view name);
  Result<void> unload(std::string_view name);
  Result<void> download(std::string_view name, std::string_view stored_as);
  Result<void> remove(std::string_view name);
  std::shared_ptr<void> listen(Told told);
  void look_at_clock();
  // Asks which models there are.
  void renew();
  Result<api::ShownModel> show(std::string_view name);

  const Options& options() const { return options_; }
  bool is_remote() const { return loader_->is_remote(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Known {
    Entry entry{};
    std::shared_ptr<Instance> instance{};   // while it is loaded
    std::unique_ptr<Memories> memories{};   // while it sleeps
    std::unique_ptr<Opened> opened{};       // while it is measured and waits for room
    ModelLease asleep{};                    // as api::ModelStatus has it
    std::optional<service::Takes> takes{};  // likewise
  };
  struct Waiting {
    Done done;
    bool use = true;
  };
  struct Listener {
    Told told;
  };
  using Work = std::variant<Measure, Load>;

  Time now() const { return options_.now ? options_.now() : steady_now(); }
  // The id of the model of a name; asks again where none is known. Errors: kNotFound.
  Result<std::string> find(std::string_view name, Lock& lock);
  const std::string* known_id(std::string_view name) const;
  base::Error unknown(std::string_view name) const;

  // After whatever was told to the registry: has its orders carried out.
  void go_on(Lock& lock);
  void obey(const Order& order);
  void answer(uint64_t ticket, Result<ModelLease> result);
  void tell(const api::ModelEvent& event);
  // Of downloads.
  void progress(const Downloads::Download& download);
  void ended(const std::string& name, const Result<void>& done);
  void leave(uint64_t ticket);
  void release(const std::string& id, bool use);
  ModelLease lease_of(const std::string& id, const std::shared_ptr<Instance>& instance, bool use);
  // One that keeps a model for as long as it is looked at, without the registry's knowing.
  ModelLease look_at(const std::shared_ptr<Instance>& instance);

  void run_loads();
  void load_one(const std::string& id, bool step_down, Lock& lock);
  void run_frees();
  void free_one(const std::string& id, Lock& lock);
  // What is left of a model that is not loaded is of no use any more.
  void bury(Known& known);
  // An instance of a model has ended by itself.
  void died(const std::string& id, const Instance* which, const base::Error& error);

  const Options options_;
  const std::shared_ptr<Loader> loader_;
  std::mutex renewing_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  Registry registry_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<uint64_t, Waiting> waiting_;
  std::vector<std::weak_ptr<Listener>> listeners_;
  std::deque<Work> loads_;
  std::deque<std::string> frees_;
  std::vector<std::shared_ptr<void>> dead_;  // not destroyed yet, which may take a while
  std::atomic<bool> cancel_ = false;         // of the load under way
  // What is to be called without the mutex, in this order, by one thread at a time.
  std::deque<std::function<void()>> calls_;
  bool calling_ = false;
  bool stopped_ = false;
  Downloads downloads_;
  std::thread loading_, freeing_;
};

void Manager::Shared::begin() {
  renew();
  Lock lock(mutex_);
  for (const auto& [id, known] : known_) {
    if (known.entry.load_at_start) registry_.load(id, now());
  }
  loading_ = std::thread([this] { run_loads(); });
  freeing_ = std::thread([this] { run_frees(); });
  go_on(lock);
}

void Manager::Shared::stop() {
  std::vector<std::shared_ptr<Instance>> instances;
  {
    Lock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    cancel_ = true;
    while (!waiting_.empty()) answer(waiting_.begin()->first, std::unexpected(ending()));
    for (auto& each : known_) {
      if (each.second.instance) instances.push_back(each.second.instance);
    }
    go_on(lock);
  }
  changed_.notify_all();
  downloads_.stop();
  for (const auto& each : instances) each->stop();
  for (std::thread* each : {&loading_, &freeing_}) {
    if (each->joinable()) each->join();
  }
  // Leases may keep the rest for longer.
  Lock lock(mutex_);
  for (auto& each : known_) bury(each.second);
  const std::vector<std::shared_ptr<void>> dead = std::exchange(dead_, {});
  lock.unlock();
}

void Manager::Shared::bury(Known& known) {
  if (known.memories) dead_.emplace_back(std::move(known.memories));
  if (known.opened) dead_.emplace_back(std::move(known.opened));
}

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

void Manager::Shared::go_on(Lock& lock) {
  for (std::vector<Order> orders; !(orders = registry_.take_orders()).empty();)
    std::ranges::for_each(orders, [this](const Order& order) { obey(order); });
  changed_.notify_all();
  if (std::exchange(calling_, true)) return;
  while (!calls_.empty()) {
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    call = nullptr;  // what it has goes without the mutex
    lock.lock();
  }
  calling_ = false;
}

void Manager::Shared::obey(const Order& order) {
  if (const auto* measure = std::get_if<Measure>(&order)) {
    cancel_ = stopped_;
    loads_.emplace_back(*measure);
  } else if (const auto* drop = std::get_if<Drop>(&order)) {
    const auto found = known_.find(drop->id);
    if (found != known_.end() && found->second.opened)
      dead_.emplace_back(std::move(found->second.opened));
  } else if (const auto* load = std::get_if<Load>(&order)) {
    cancel_ = stopped_;
    loads_.emplace_back(*load);
  } else if (std::holds_alternative<StopLoad>(order)) {
    cancel_ = true;
  } else if (const auto* free = std::get_if<Free>(&order)) {
    frees_.push_back(free->id);
  } else if (const auto* grant = std::get_if<Grant>(&order)) {
    const auto found = waiting_.find(grant->ticket);
    // Who has been told that the server ends has left without a word to the registry.
    if (found == waiting_.end()) return registry_.release(grant->id, false, now());
    answer(grant->ticket, lease_of(grant->id, known_.at(grant->id).instance, found->second.use));
  } else if (const auto* refuse = std::get_if<Refuse>(&order)) {
    answer(refuse->ticket, std::unexpected(refuse->error));
  } else if (const auto* change = std::get_if<Changed>(&order)) {
    calls_.emplace_back([change = *change] { write_log(change); });
    // What is on its way is told of when it is there.
    if (change->state == State::kUnloading || change->state == State::kFallingAsleep) return;
    tell({.id = change->id,
          .state = state_of(change->state),
          .error = change->failed ? api::without_paths(change->why) : std::string()});
  }
}

void Manager::Shared::answer(uint64_t ticket, Result<ModelLease> result) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  calls_.emplace_back([done = std::move(found->second.done), result = std::move(result)]() mutable {
    done(std::move(result));
  });
  waiting_.erase(found);
}

void Manager::Shared::tell(const api::ModelEvent& event) {
  for (const auto& each : listeners_) {
    if (auto listener = each.lock())
      calls_.emplace_back([listener = std::move(listener), event] { listener->told(event); });
  }
}

void Manager::Shared::leave(uint64_t ticket) {
  Done dropped;  // without the mutex
  Lock lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  dropped = std::move(found->second.done);
  waiting_.erase(found);
  registry_.leave(ticket, now());
  go_on(lock);
  lock.unlock();
}

void Manager::Shared::release(const std::string& id, bool use) {
  Lock lock(mutex_);
  registry_.release(id, use, now());
  go_on(lock);
}

ModelLease Manager::Shared::lease_of(const std::string& id,
                                     const std::shared_ptr<Instance>& instance, bool use) {
  return {&instance->served(),
          [self = shared_from_this(), instance = instance, id, use](const ServedModel*) mutable {
            instance.reset();
            self->release(id, use);
          }};
}

ModelLease Manager::Shared::look_at(const std::shared_ptr<Instance>& instance) {
  return {&instance->served(),
          [self = shared_from_this(), instance = instance](const ServedModel*) mutable {
            instance.reset();
            self->changed_.notify_all();
          }};
}

void Manager::Shared::run_loads() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !loads_.empty(); });
    if (stopped_) return;
    const Work work = std::move(loads_.front());
    loads_.pop_front();
    if (const auto* load = std::get_if<Load>(&work)) {
      load_one(load->id, load->step_down, lock);
      continue;
    }
    const std::string& id = std::get<Measure>(work).id;
    const Entry entry = known_.at(id).entry;
    lock.unlock();
    Result<Loader::Measured> measured = loader_->measure(entry, cancel_);
    lock.lock();
    if (measured) {
      std::optional<Footprint> kept;
      if (measured->opened) kept = measured->opened->held();
      known_.at(id).opened = std::move(measured->opened);
      registry_.measured(id, std::move(measured->need), std::move(kept), now());
    } else {
      registry_.broken(id, std::move(measured.error()), now());
    }
    go_on(lock);
  }
}

void Manager::Shared::load_one(const std::string& id, bool step_down, Lock& lock) {
  Known& known = known_.at(id);
  const Entry entry = known.entry;
  Loader::Order order{.step_down = step_down, .cancel = &cancel_};
  order.memories = std::move(known.memories);
  order.opened = std::move(known.opened);
  lock.unlock();
  const base::Timer timer;
  Result<std::unique_ptr<Instance>> instance = loader_->load(entry, std::move(order));
  if (instance) base::log_info("{} is loaded after {:.1f} s.", id, timer.ms() / 1e3);
  lock.lock();
  if (instance) {
    known.instance = *std::move(instance);
    known.asleep.reset();
    std::shared_ptr<Instance> loaded = known.instance;
    registry_.ready(id, loaded->held(), now());
    go_on(lock);
    lock.unlock();
    loaded->when_died(
        [weak = weak_from_this(), id, which = loaded.get()](const base::Error& error) {
          if (const auto self = weak.lock()) self->died(id, which, error);
        });
    loaded.reset();
    lock.lock();
    return;
  } else {
    registry_.broken(id, std::move(instance.error()), now());
  }
  go_on(lock);
}

void Manager::Shared::run_frees() {
  Lock lock(mutex_);
  while (!stopped_) {
    if (!dead_.empty()) {
      std::vector<std::shared_ptr<void>> dead = std::exchange(dead_, {});
      lock.unlock();
      dead.clear();
      lock.lock();
      continue;
    }
    if (!frees_.empty()) {
      const std::string id = std::move(frees_.front());
      frees_.pop_front();
      free_one(id, lock);
      continue;
    }
    // Whatever changes may change when to look at the clock again.
    const auto next = registry_.next_time(now());
    if (next && !options_.now) {
      changed_.wait_for(lock, *next - now());
    } else {
      changed_.wait(lock);
    }
    if (stopped_) return;
    registry_.tick(now());
    go_on(lock);
  }
}

void Manager::Shared::died(const std::string& id, const Instance* which, const base::Error& error) {
  Lock lock(mutex_);
  const auto known = known_.find(id);
  if (stopped_ || known == known_.end() || known->second.instance.get() != which) return;
  // Not here: it waits for the thread that tells of its end.
  dead_.push_back(std::move(known->second.instance));
  known->second.instance = nullptr;
  registry_.died(id, error, now());
  go_on(lock);
}

void Manager::Shared::free_one(const std::string& id, Lock& lock) {
  constexpr Milliseconds kBetweenLooks{20};
  Known& known = known_.at(id);
  std::shared_ptr<Instance> instance = std::move(known.instance);
  known.instance = nullptr;
  // Who looks at it does so for a moment.
  while (instance.use_count() > 1 && !stopped_) changed_.wait_for(lock, kBetweenLooks);
  const auto look = registry_.look(id, now());
  const bool sleeps = look && look->state == State::kFallingAsleep;
  if (sleeps) known.asleep = asleep_of(instance->served());
  lock.unlock();
  std::unique_ptr<Memories> memories;
  if (sleeps) memories = instance->remember();
  instance.reset();
  lock.lock();
  known.memories = std::move(memories);
  registry_.freed(id, now());
  go_on(lock);
}

Manager::Manager(Options options, std::shared_ptr<Loader> loader)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(loader))) {
  shared_->begin();
}

Manager::~Manager() { stop(); }

void Manager::stop() { shared_->stop(); }

std::shared_ptr<void> Manager::acquire(const api::ModelWish& wish,
                                       std::function<void(Result<ModelLease>)> done) {
  return shared_->acquire(wish, std::move(done));
}

std::vector<ModelLease> Manager::loaded() const { return shared_->loaded(); }
bool Manager::is_remote() const { return shared_->is_remote(); }
// What can be done with a source is done with its models, not with itself.
api::ModelControl* Manager::control() const { return const_cast<Manager*>(this); }

std::vector<api::ModelStatus> Manager::list() const { return shared_->list(); }
void Manager::renew() { shared_->renew(); }
Result<api::ShownModel> Manager::show(std::string_view name) const { return shared_->show(name); }
Result<void> Manager::load(std::string_view name) { return shared_->load(name); }
Result<void> Manager::unload(std::string_view name) { return shared_->unload(name); }
Result<void> Manager::download(std::string_view name, std::string_view stored_as) {
  return shared_->download(name, stored_as);
}
Result<void> Manager::remove(std::string_view name) { return shared_->remove(name); }
std::shared_ptr<void> Manager::listen(Told told) { return shared_->listen(std::move(told)); }
size_t Manager::most_loaded() const { return shared_->options().limits.n_models; }
bool Manager::autoload() const { return shared_->options().autoload; }
void Manager::look_at_clock() { shared_->look_at_clock(); }

}  // namespace puna::manager
