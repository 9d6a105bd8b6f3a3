// What the manager's threads, requests and leases share. Internal to manager/: requests.cpp is what
// it is asked for, orders.cpp what the registry has it do, workers.cpp its two threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "manager/manager.h"

namespace puna::manager {

// What a client is told of a state.
api::ModelState state_of(State state);
// What who waits is told when the server stops.
base::Error ending();

class Manager::Shared : public std::enable_shared_from_this<Shared> {
 public:
  using Done = std::function<void(base::Result<api::ModelLease>)>;
  using Told = std::function<void(const api::ModelEvent&)>;

  Shared(Options options, std::shared_ptr<Loader> loader)
      : options_(std::move(options)),
        loader_(std::move(loader)),
        registry_(options_.limits),
        downloads_(options_.pull,
                   {.progress = [this](const auto& each) { progress(each); },
                    .ended = [this](const auto& name, const auto& done) { ended(name, done); }}) {}

  // Begins and ends the threads.
  void begin();
  void stop();

  // As api/model_source.h has them.
  std::shared_ptr<void> acquire(const api::ModelWish& wish, Done done);
  std::vector<api::ModelLease> loaded();
  std::vector<api::ModelStatus> list();
  base::Result<void> load(std::string_view name);
  base::Result<void> unload(std::string_view name);
  base::Result<void> download(std::string_view name, std::string_view stored_as);
  base::Result<void> remove(std::string_view name);
  std::shared_ptr<void> listen(Told told);
  void look_at_clock();
  // Asks which models there are.
  void renew();
  base::Result<api::ShownModel> show(std::string_view name);

  const Options& options() const { return options_; }
  bool is_remote() const { return loader_->is_remote(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Known {
    Entry entry{};
    std::shared_ptr<Instance> instance{};   // while it is loaded
    std::unique_ptr<Memories> memories{};   // while it sleeps
    std::unique_ptr<Opened> opened{};       // while it is measured and waits for room
    api::ModelLease asleep{};               // as api::ModelStatus has it
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

  Time now() const;
  // The id of the model of a name; asks again where none is known. Errors: kNotFound.
  base::Result<std::string> find(std::string_view name, Lock& lock);
  const std::string* known_id(std::string_view name) const;
  base::Error unknown(std::string_view name) const;

  // Of downloads.
  void progress(const Downloads::Download& download);
  void ended(const std::string& name, const base::Result<void>& done);

  // After whatever was told to the registry: has its orders carried out.
  void go_on(Lock& lock);
  void obey(const Order& order);
  void answer(uint64_t ticket, base::Result<api::ModelLease> result);
  void tell(const api::ModelEvent& event);
  void leave(uint64_t ticket);
  void release(const std::string& id, bool use);
  api::ModelLease lease_of(const std::string& id, const std::shared_ptr<Instance>& instance,
                           bool use);
  // One that keeps a model for as long as it is looked at, without the registry's knowing.
  api::ModelLease look_at(const std::shared_ptr<Instance>& instance);

  void run_loads();
  void measure_one(const std::string& id, Lock& lock);
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

}  // namespace puna::manager
