// Registry: which models are loaded, who waits for them, and which one goes when another needs its
// room. It is told what has happened and when, and says what is to be done: no thread, no clock and
// no engine is here. Read next: states.h, manager.h, which gives it all three.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "manager/states.h"

namespace puna::manager {

using Milliseconds = std::chrono::milliseconds;
using Time = Milliseconds;  // since some moment; never goes back

// Bytes by device: "host", and GPUs as --device calls them: "gpu:0".
using Footprint = std::map<std::string, uint64_t, std::less<>>;
inline constexpr std::string_view kHost = "host";

inline constexpr Milliseconds kForever = Milliseconds::max();

struct Limits {
  // What models may take of each device; one that is not in it has no known limit, until memory
  // there was refused.
  Footprint bytes{};
  size_t n_models = 0;               // that hold memory at once; 0: as many as fit
  size_t n_queued = 512;             // requests that wait for a model
  Milliseconds keep_alive{300'000};  // where requests wish nothing
  Milliseconds sleep_after = kForever;
  // So long after it was loaded a model goes only where nobody uses it.
  Milliseconds settled{30'000};
  // So long what has measured a model is kept for its load, which waits for room. By then, what it
  // takes to begin anew is little beside the wait.
  Milliseconds measured_stays{10'000};
  // After the first failure, then twice as long each time.
  Milliseconds first_pause{1'000}, longest_pause{60'000};
};

// What is to be done.
struct Measure {
  std::string id;  // find out what it would take: measured(), or broken()
};
// What has measured it is kept no longer: nobody waits for it, or its turn does not come soon.
struct Drop {
  std::string id;
};
struct Load {
  std::string id;
  // Nothing else can go, so it has to do with what there is: with a shorter context, with fewer
  // layers on the GPU.
  bool step_down = false;
};
struct StopLoad {
  std::string id;
};
struct Free {
  std::string id;
};
struct Grant {
  uint64_t ticket = 0;
  std::string id;
};
struct Refuse {
  uint64_t ticket = 0;
  base::Error error;
};
// For those who watch.
struct Changed {
  std::string id;
  State state = State::kUnloaded;
  bool failed = false;
  std::string why;  // a sentence; empty: nothing to tell
};
using Order = std::variant<Measure, Drop, Load, StopLoad, Free, Grant, Refuse, Changed>;

// How a request wants a model.
struct Want {
  bool use = true;  // false: it only looks, which keeps nothing alive
  // How long the model is to stay afterwards; none: as is usual, 0: it goes when it is idle.
  std::optional<Milliseconds> keep_alive{};
};

class Registry {
 public:
  explicit Registry(Limits limits) : limits_(std::move(limits)) {}

  // A model that may be asked for. Idempotent.
  void add(const std::string& id) { models_[id].removed = false; }
  // One that is no longer there: it goes when it is idle, and is forgotten then.
  void remove(const std::string& id, Time now);
  // Its file is another now: it is loaded from that the next time, which may be at once.
  void renew(const std::string& id, Time now);
  bool knows(std::string_view id) const { return models_.contains(id); }

  // A request wants a model that was added. Grant or Refuse follows, now or later; after Grant a
  // release(), before it perhaps leave().
  uint64_t want(const std::string& id, Want want, Time now);
  void leave(uint64_t ticket, Time now);
  void release(const std::string& id, bool use, Time now);

  // Somebody asks for a model to be loaded, and waits for nothing. What failed is tried at once.
  void load(const std::string& id, Time now);
  // It goes when it is idle; a load that nobody waits for stops. False: it is not loaded.
  bool unload(const std::string& id, Time now);

  // What has become of orders. `kept`: what is taken by what has measured it, and is there for its
  // load; none: nothing is. The model that is loaded next is the only one with something kept.
  void measured(const std::string& id, Footprint need, std::optional<Footprint> kept, Time now);
  // With what it takes now.
  void ready(const std::string& id, Footprint held, Time now);
  // Of Measure or Load. kOutOfMemory while others hold memory of the same device: it is tried again
  // when some of these have gone. kCancelled after StopLoad: it is unloaded.
  void broken(const std::string& id, base::Error error, Time now);
  void freed(const std::string& id, Time now);
  // A loaded one has ended by itself. It is loaded again after a pause, as after a load that fails;
  // one that had been loaded for as long as the longest pause counts as fine until then.
  void died(const std::string& id, base::Error error, Time now);

  // Lets time pass; to be called at next_time() at the latest.
  void tick(Time now) { advance(now); }
  std::optional<Time> next_time(Time now) const;

  // Orders in their order, each once.
  std::vector<Order> take_orders() { return std::exchange(orders_, {}); }

  struct Look {
    State state = State::kUnloaded;
    bool failed = false;
    std::optional<base::Error> error{};  // of the last load, where it failed
    Footprint held{};                    // what is kept for its load, too
    uint32_t n_leases = 0;
    size_t n_waiting = 0;
    Milliseconds left = kForever;  // until it goes, if nobody comes
    uint64_t n_loads = 0;          // since the start
    uint64_t n_evictions = 0;      // since its room was wanted by others
  };
  std::optional<Look> look(std::string_view id, Time now) const;
  size_t n_waiting() const { return tickets_.size(); }
  // Of all models.
  Footprint held() const;
  const Limits& limits() const { return limits_; }

 private:
  struct Model {
    State state = State::kUnloaded;
    std::optional<Footprint> need{};
    std::optional<Footprint> kept{};  // since it was measured, for its load
    Time kept_at{};
    Footprint held{};
    uint32_t n_leases = 0;
    std::deque<uint64_t> waiting{};
    std::optional<uint64_t> asked{};  // by load(): its place in the queue
    bool measuring = false;
    bool measures_old = false;  // its file is another since that began
    bool stopping = false;      // StopLoad was said
    bool goes_idle = false;     // it goes when it is idle
    bool yields = false;        // others wait for its room: requests wait until it is back
    bool removed = false;
    bool step_down = false;  // of the next Load
    Time loaded_at{};
    Time used_at{};
    std::optional<Milliseconds> wish{};  // the longest since it was loaded
    uint32_t n_failures = 0;
    Time retry_at{};
    std::optional<base::Error> error{};
    uint64_t n_loads = 0, n_evictions = 0;

    bool idle() const { return n_leases == 0; }
    bool wanted() const { return asked || !waiting.empty(); }
  };
  struct Ticket {
    std::string id;
    Want want;
  };
  using Entry = std::pair<const std::string, Model>;

  // As the table says.
  void apply(Entry& entry, Event event, Time now, std::string why = {});
  void serve(Entry& entry, Time now);
  void refuse_all(Model& model, const base::Error& error);
  void grant(uint64_t ticket, Time now);
  void fail(Entry& entry, Event event, base::Error error, Time now);
  // Goes on as far as it can.
  void advance(Time now);
  void end_idle(Time now);
  // Of all models but the one that is next, and of that, where it has waited for too long.
  void drop_kept(const Entry* next, Time now);
  void drop(Entry& entry);
  void forget_removed();
  // The model that is to be loaded next: the one that somebody has waited for longest.
  Entry* head();
  void load_next(Entry& next, Time now);
  void make_room(Entry& wanted, Time now);
  // Loaded models whose going makes room, idle ones first, the least recently used first; none
  // where no set of them does.
  std::optional<std::vector<Entry*>> victims(const Entry& wanted, const Footprint& need, Time now);
  bool fits(const Footprint& need, const Footprint& gone, size_t n_gone) const;
  // What is more than there can be does not wait for more.
  Footprint within_limits(Footprint need) const;
  // Memory was refused: others hold all there is. False: none do.
  bool learn_limits(const Model& model);
  Milliseconds stays(const Model& model) const;
  // When an idle model goes, or falls asleep.
  Time goes_at(const Model& model) const;
  Time sleeps_at(const Model& model) const;

  Limits limits_;
  std::map<std::string, Model, std::less<>> models_;
  std::map<uint64_t, Ticket> tickets_;  // that wait; rising
  uint64_t last_ticket_ = 0;
  std::vector<Order> orders_;
};

}  // namespace puna::manager
