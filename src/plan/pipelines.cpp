#include "plan/pipelines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <utility>

namespace puna::plan {

using base::Result;
using base::Task;

namespace {

void append(std::string& key, const std::map<std::string, std::string>& defines) {
  for (const auto& [name, value] : defines) key.append(name).append("=").append(value).append("\n");
}

// All that the text of a call depends on, for one device.
std::string variant_of(const kernels::KernelCall& call) {
  std::string key(call.kernel);
  key += '\n';
  append(key, call.defines);
  for (const kernels::Beside& part : call.beside) {
    key += fmt::format("beside {} {}\n", part.first_x, fmt::join(part.bindings, " "));
    append(key, part.defines);
  }
  return key;
}

}  // namespace

Result<size_t> Pipelines::add(const kernels::KernelCall& call) {
  std::string variant = variant_of(call);
  if (const auto known = by_variant_.find(variant); known != by_variant_.end())
    return known->second;
  PUNA_TRY_CONTEXT(std::string text, kernels::expand(call, device_.info()),
                   fmt::format("While expanding the kernel of \"{}\"", call.label));
  const auto [same, is_new] = by_text_.try_emplace(std::move(text), by_text_.size());
  const size_t index = same->second;
  by_variant_.emplace(std::move(variant), index);
  if (!is_new) return index;
  gpu::PipelineDesc desc{fmt::format("{} ({})", call.kernel, call.label), same->first, {}};
  for (const kernels::BoundSlice& b : call.bindings) desc.bindings.push_back(b.access);
  state_->ids.emplace_back();
  ++state_->n_left;
  device_.create_pipeline(std::move(desc), [state = state_, index](Result<gpu::PipelineId> id) {
    if (id) {
      state->ids[index] = *id;
    } else if (!state->error) {
      state->error = std::move(id.error());
    }
    if (--state->n_left == 0 && state->waiter) std::exchange(state->waiter, nullptr)(true);
  });
  return index;
}

Task<Result<std::vector<gpu::PipelineId>>> Pipelines::all() {
  const std::shared_ptr<State> state = state_;
  co_await base::await_callback<bool>([&](std::function<void(bool)> done) {
    if (state->n_left == 0) return done(true);
    state->waiter = std::move(done);
  });
  by_variant_.clear();
  by_text_.clear();
  if (state->error) co_return std::unexpected(*std::move(state->error));
  co_return std::move(state->ids);
}

}  // namespace puna::plan
