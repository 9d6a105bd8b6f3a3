// One model on several GPUs, whole on each, and the threads of its engines.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/host_thread.h"
#include "service/hosts.h"
#include "service/open.h"

namespace puna::service {

// How n_wanted copies are opened, each whole on a GPU of its own of those that `options.device`
// means, in their order; where no number is wanted, one on each of them. At least one: a single one
// as the options say. Errors: kInvalidArgument where more are wanted than there are GPUs; those of
// finding these.
base::Result<std::vector<OpenOptions>> replicas_of(const OpenOptions& options,
                                                   std::optional<uint32_t> n_wanted);

using OpenReplica = std::function<base::Result<LoadedModel>(OpenOptions options)>;
// Opens these copies. Where no number is wanted, those that there is room for, with a line about
// the others; one as the options say where there is room for none. All have the context of the
// first. Errors: those of replicas_of() and of `open`.
base::Result<std::vector<LoadedModel>> open_replicas(const OpenOptions& options,
                                                     std::optional<uint32_t> n_wanted,
                                                     const OpenReplica& open);

class Replicas {
 public:
  explicit Replicas(std::vector<LoadedModel> models);

  const std::shared_ptr<Hosts>& hosts() const { return hosts_; }
  // Nothing more is taken; returns when all has ended.
  void stop();

 private:
  std::vector<std::unique_ptr<HostThread>> threads_;
  std::shared_ptr<Hosts> hosts_;
};

}  // namespace puna::service
