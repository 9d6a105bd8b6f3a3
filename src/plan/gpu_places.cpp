#include "plan/gpu_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "plan/memory.h"
#include "quant/planes.h"

namespace puna::plan {

using base::ErrorCode;
using base::Result;
using kernels::Slice;

namespace {

constexpr uint64_t kShardBytes =
    uint64_t{1} << 30;  // weights and cache are gathered into buffers of about this size

}  // namespace

// Hands out slices of buffers that grow up to a limit; a new buffer is begun when one is full.
class GpuPlaces::Allocator {
 public:
  Allocator(GpuPlan& plan, std::string label, uint64_t limit)
      : plan_(plan), label_(std::move(label)), limit_(limit) {}

  Slice take(uint64_t bytes) {
    const uint64_t wanted = aligned(std::max<uint64_t>(bytes, 4));
    if (current_ == SIZE_MAX || plan_.buffers[current_].bytes + wanted > limit_) {
      current_ = plan_.buffers.size();
      plan_.buffers.push_back({fmt::format("{}.{}", label_, n_++), 0});
    }
    GpuPlan::Buffer& buffer = plan_.buffers[current_];
    const Slice slice{static_cast<uint32_t>(current_), buffer.bytes, wanted};
    buffer.bytes += wanted;
    return slice;
  }

 private:
  GpuPlan& plan_;
  std::string label_;
  uint64_t limit_;
  size_t current_ = SIZE_MAX;
  int n_ = 0;
};

Result<void> GpuPlaces::place() {
  PUNA_TRY(place_weights());
  PUNA_TRY(place_cache());
  PUNA_TRY(place_states());
  place_constants();
  return {};
}

uint64_t GpuPlaces::shard_bytes() const {
  return std::min(device_.limits.max_buffer_bytes, kShardBytes);
}
uint64_t GpuPlaces::binding_limit() const {
  return std::min(device_.limits.max_binding_bytes, shard_bytes());
}

Result<void> GpuPlaces::place_weights() {
  Allocator weights(plan_, "weights", shard_bytes());
  for (const WeightSpec& spec : graph_.weights) {
    kernels::GpuWeight weight{spec.type, spec.rows, spec.columns, {}};
    if (spec.rows == 0) {  // another part of a split model has it
      plan_.weights.push_back(std::move(weight));
      continue;
    }
    // The most rows one binding holds, in whole groups.
    const auto bytes = [&](uint32_t rows) {
      return quant::plane_layout(spec.type, rows, spec.columns).bytes;
    };
    const uint32_t group = spec.n_parts > 1 ? spec.rows / spec.n_parts : 16;
    uint32_t rows = (spec.rows + group - 1) / group * group;
    while (rows > group && bytes(rows) > binding_limit())
      rows = (rows / 2 + group - 1) / group * group;
    if (bytes(rows) > binding_limit()) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("Rows of \"{}\" have {} columns; {} of them exceed this "
                                    "device's binding limit of {} MiB.",
                                    spec.label, spec.columns, group, binding_limit() >> 20));
    }
    for (uint32_t first = 0; first < spec.rows; first += rows) {
      const uint32_t n = std::min(rows, spec.rows - first);
      weight.chunks.push_back({weights.take(bytes(n)), first, n});
      plan_.memory.weights += weight.chunks.back().slice.bytes;
    }
    plan_.weights.push_back(std::move(weight));
  }
  return {};
}

Result<void> GpuPlaces::place_cache() {
  Allocator kv(plan_, "kv", shard_bytes());
  for (const KvSpec& spec : graph_.kv) {
    const kernels::KvLayout layout{cache_.type, cache_.pages_of(spec.window), spec.n_kv_heads,
                                   spec.head_dim};
    if (layout.bytes() > binding_limit()) {
      return base::fail(
          ErrorCode::kOutOfMemory,
          fmt::format("The cache of one layer needs {} MiB for {} tokens, but this device binds "
                      "at most {} MiB; "
                      "a smaller --ctx or a smaller --kv-type fits.",
                      layout.bytes() >> 20, uint64_t{layout.n_pages} * kernels::kPageTokens,
                      binding_limit() >> 20));
    }
    GpuPlan::Kv layer{layout, kv.take(layout.bytes()), {}, cache_.by_window(spec.window)};
    layer.v = spec.v_in_k ? layer.k : kv.take(layout.bytes());
    plan_.memory.kv += layer.k.bytes + (spec.v_in_k ? 0 : layer.v.bytes);
    plan_.kv.push_back(layer);
  }
  return {};
}

Result<void> GpuPlaces::place_states() {
  Allocator live(plan_, "state", shard_bytes());
  Allocator saved(plan_, "snapshots", shard_bytes());
  const uint64_t most = std::max(cache_.n_sequences, cache_.n_snapshots);
  for (const StateSpec& spec : graph_.states) {
    const uint64_t bytes = spec.n * sizeof(float);
    if (most * bytes > binding_limit()) {
      return base::fail(
          ErrorCode::kOutOfMemory,
          fmt::format("The state \"{}\" needs {} KiB for each of {} sequences or snapshots, but "
                      "this device binds at most {} MiB; fewer sequences fit.",
                      spec.label, bytes >> 10, most, binding_limit() >> 20));
    }
    const Slice slots = live.take(cache_.n_sequences * bytes);
    plan_.states.push_back({slots, saved.take(cache_.n_snapshots * bytes), bytes});
    plan_.memory.kv += slots.bytes + plan_.states.back().saved.bytes;
  }
  return {};
}

// Every op's constants, each distinct one once.
void GpuPlaces::place_constants() {
  Allocator allocator(plan_, "constants", shard_bytes());
  for (const Op& op : graph_.ops) {
    for (Constant& constant : constants(op)) {
      if (find(constant)) continue;
      uint64_t bytes = 0;
      for (VectorId v : constant.vectors) bytes += graph_.vectors[v].n * sizeof(float);
      if (constant.table) bytes = uint64_t{constant.table->n_rot} * sizeof(uint32_t);
      if (constant.sections)
        bytes = uint64_t{constant.sections->rope.n_rot} / 2 * 4 * sizeof(uint32_t);
      const Slice slice = allocator.take(bytes);
      plan_.memory.weights += slice.bytes;
      plan_.constants.push_back({std::move(constant), slice});
    }
  }
}

Slice GpuPlaces::constant(const Constant& constant) const {
  const ConstantSpec* placed = find(constant);
  PUNA_CHECK(placed);  // an op's constants() says what its lower() asks for
  return placed->slice;
}

const ConstantSpec* GpuPlaces::find(const Constant& constant) const {
  const auto found = std::ranges::find_if(
      plan_.constants, [&](const ConstantSpec& placed) { return placed == constant; });
  return found != plan_.constants.end() ? &*found : nullptr;
}

}  // namespace puna::plan
