// Children: a process for each model, which its crash takes with it and nothing else. It is the
// same program, listens on a Unix socket in a folder that only this user may look into, and ends
// with this process. Requests go to it over HTTP (server/forward.h). Read next: child.h,
// child_words.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "manager/child.h"
#include "manager/instance.h"
#include "manager/socket_folder.h"

namespace puna::manager {

class Children final : public Loader {
 public:
  // What a process is told of a model beside what it is (Hello::extra).
  using ExtraOf = std::function<base::Json(const Entry& entry)>;
  // Errors: those of SocketFolder.
  static base::Result<std::shared_ptr<Children>> make(Child::Program program, ExtraOf extra_of);

  bool is_remote() const override { return true; }
  // By a process that can load it afterwards: what it finds is what it takes itself, and what the
  // plan says.
  base::Result<Measured> measure(const Entry& entry, const std::atomic<bool>& cancel) override;
  base::Result<std::unique_ptr<Instance>> load(const Entry& entry, Order order) override;

 private:
  Children(Child::Program program, ExtraOf extra_of, std::unique_ptr<SocketFolder> folder)
      : program_(std::move(program)), extra_of_(std::move(extra_of)), folder_(std::move(folder)) {}

  struct Started {
    std::shared_ptr<Child> child;
    std::string socket;
  };
  base::Result<Started> start(const Entry& entry);

  const Child::Program program_;
  const ExtraOf extra_of_;
  const std::shared_ptr<SocketFolder> folder_;  // instances have it too
  std::atomic<uint32_t> n_started_ = 0;
};

}  // namespace puna::manager
