// Pipelines of kernel calls, all under way at the same time: those of a GpuProgram, or of the
// kernels that repack its weights.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "gpu/device.h"
#include "kernels/common/call.h"

namespace puna::plan {

class Pipelines {
 public:
  // `device` outlives this.
  explicit Pipelines(gpu::Device& device) : device_(device) {}

  // Begins to compile the call's kernel, unless one with equal text was added. Returns its index in
  // what all() gives. Errors: those of expanding the text.
  base::Result<size_t> add(const kernels::KernelCall& call);
  // Waits for all that were added, once. Errors: kDevice with the first compiler's message.
  base::Task<base::Result<std::vector<gpu::PipelineId>>> all();

 private:
  // Outlives the Pipelines where a compiler is still at work.
  struct State {
    std::vector<gpu::PipelineId> ids;
    std::optional<base::Error> error;
    size_t n_left = 0;
    std::function<void(bool)> waiter;
  };

  gpu::Device& device_;
  std::map<std::string, size_t> by_variant_;  // template and options, so that it is expanded once
  std::map<std::string, size_t> by_text_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace puna::plan
