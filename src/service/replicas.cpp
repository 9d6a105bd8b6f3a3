#include "service/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;

namespace {

// A whole model on one GPU.
OpenOptions whole_on(const std::string& device, const OpenOptions& options) {
  OpenOptions out = options;
  out.device = device;
  out.one_gpu = true;
  out.engine.more_gpus.shares.clear();
  out.engine.fit.layers = false;
  return out;
}

}  // namespace

Result<std::vector<OpenOptions>> replicas_of(const OpenOptions& options,
                                             std::optional<uint32_t> n_wanted) {
  std::vector<std::string> gpus;
  if (n_wanted != 1u) {
    PUNA_TRY(gpus, gpus_of(options));
  }
  const size_t n = n_wanted ? *n_wanted : std::max<size_t>(gpus.size(), 1);
  if (n == 1) return std::vector{options};
  if (n > gpus.size()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("{} replicas ask for as many GPUs, but --device {} means {}.", n,
                                  options.device, gpus.size()));
  }
  std::vector<OpenOptions> out;
  for (size_t i = 0; i < n; ++i) out.push_back(whole_on(gpus[i], options));
  return out;
}

Result<std::vector<LoadedModel>> open_replicas(const OpenOptions& options,
                                               std::optional<uint32_t> n_wanted,
                                               const OpenReplica& open) {
  PUNA_TRY(const std::vector<OpenOptions> copies, replicas_of(options, n_wanted));
  std::vector<LoadedModel> out;
  for (size_t i = 0; copies.size() > 1 && i < copies.size(); ++i) {
    OpenOptions each = copies[i];
    // Every one of them takes any text.
    if (!out.empty()) each.engine.context = out.front().engine->context();
    Result<LoadedModel> model = open(each);
    const bool has_no_room = !model && model.error().code == ErrorCode::kOutOfMemory;
    if (has_no_room && !n_wanted) {
      base::log_warning("No whole copy of the model is on {}: {}", each.device,
                        model.error().text());
      continue;
    }
    PUNA_TRY_CONTEXT(LoadedModel loaded, std::move(model),
                     fmt::format("While loading replica {} of {}", i + 1, copies.size()));
    out.push_back(std::move(loaded));
  }
  if (out.empty()) {  // the only one; or in parts, then
    PUNA_TRY(LoadedModel only, open(options));
    out.push_back(std::move(only));
  }
  return out;
}

Replicas::Replicas(std::vector<LoadedModel> models) {
  std::vector<Host*> all;
  for (LoadedModel& model : models) {
    threads_.push_back(std::make_unique<HostThread>(std::move(model)));
    all.push_back(threads_.back().get());
  }
  hosts_ = std::make_shared<Hosts>(std::move(all));
}

void Replicas::stop() {
  for (const auto& thread : threads_) thread->stop();
}

}  // namespace puna::service
