// The one model of a process that gives its memory back while nobody asks for anything: a manager
// (manager.h) with one model, which says and does what a server of one model does.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "api/model_source.h"
#include "manager/instance.h"
#include "manager/manager.h"

namespace puna::manager {

class Sleeper final : public api::ModelSource {
 public:
  // Loads it, and has it sleep so long after its last request. Errors: those of loading.
  static base::Result<std::unique_ptr<Sleeper>> load(Entry entry, Milliseconds sleep_after,
                                                     std::shared_ptr<Loader> loader);
  void stop() { manager_.stop(); }

  // api::ModelSource: while it sleeps loaded() has what it was.
  std::shared_ptr<void> acquire(const api::ModelWish& wish,
                                std::function<void(base::Result<api::ModelLease>)> done) override;
  std::vector<api::ModelLease> loaded() const override;
  std::vector<api::ModelStatus> list() const override { return manager_.list(); }
  base::Result<api::ShownModel> show(std::string_view name) const override {
    return manager_.show(name);
  }

 private:
  Sleeper(Options options, std::shared_ptr<Loader> loader)
      : manager_(std::move(options), std::move(loader)) {}

  Manager manager_;
};

}  // namespace puna::manager
