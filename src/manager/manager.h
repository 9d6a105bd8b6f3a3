// Manager: the source of many models, which are loaded when they are asked for and go when others
// need their room. It gives the registry (registry.h) a clock and two threads: one loads, one frees
// and looks at the clock. Read next: registry.h for the rules, instance.h for what is loaded.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/model_source.h"
#include "manager/downloads.h"
#include "manager/instance.h"
#include "manager/registry.h"

namespace puna::manager {

struct Options {
  Limits limits{};
  bool autoload = true;    // where a request does not say
  Downloads::Pull pull{};  // null: nothing is fetched
  // Deletes what the store keeps by a name. Null: nothing is deleted.
  std::function<base::Result<void>(const std::string& stored_as)> remove{};
  // Which models there are now. On any thread, one call at a time.
  std::function<base::Result<std::vector<Entry>>()> entries{};
  // What a model that is not loaded takes besides texts. Likewise. Null: nobody looks.
  std::function<service::Takes(const Entry& entry)> takes{};
  // Milliseconds since some moment; for tests. Null: the steady clock.
  std::function<Time()> now{};
};

class Manager final : public api::ModelSource, public api::ModelControl {
 public:
  // Begins to load what is to be loaded at the start.
  Manager(Options options, std::shared_ptr<Loader> loader);
  ~Manager() override;  // stop()
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Nothing is loaded any more, who waits is told so, and what is under way ends. Leases may live
  // on; what they are of answers no more.
  void stop();

  // api::ModelSource:
  std::shared_ptr<void> acquire(const api::ModelWish& wish,
                                std::function<void(base::Result<api::ModelLease>)> done) override;
  std::vector<api::ModelLease> loaded() const override;
  std::vector<api::ModelStatus> list() const override;
  base::Result<api::ShownModel> show(std::string_view name) const override;
  bool is_remote() const override;
  api::ModelControl* control() const override;

  // api::ModelControl:
  void renew() override;
  base::Result<void> load(std::string_view name) override;
  base::Result<void> unload(std::string_view name) override;
  base::Result<void> download(std::string_view name, std::string_view stored_as) override;
  base::Result<void> remove(std::string_view name) override;
  std::shared_ptr<void> listen(std::function<void(const api::ModelEvent&)> told) override;
  size_t most_loaded() const override;
  bool autoload() const override;

  // Has the clock looked at again; for tests, which have their own.
  void look_at_clock();

 private:
  class Shared;
  const std::shared_ptr<Shared> shared_;  // leases have it too
};

// The id of an entry that differs from `name` in the fewest letters; empty: all differ in many.
std::string nearest(std::string_view name, const std::vector<Entry>& entries);

}  // namespace puna::manager
