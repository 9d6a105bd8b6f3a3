#include "plan/cpu_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/commit.h"

namespace puna::plan {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::align_val_t kAlignment{64};

Result<CpuMemory::Bytes> allocate(uint64_t bytes, const char* what) {
  CpuMemory::Bytes memory;
  if (bytes <= SIZE_MAX / 2)
    memory.reset(new (kAlignment, std::nothrow)
                     std::byte[std::max<size_t>(static_cast<size_t>(bytes), 1)]);
  if (!memory || !base::commit(memory.get(), static_cast<size_t>(bytes))) {
    return base::fail(
        ErrorCode::kOutOfMemory,
        fmt::format("There is no memory for the {} ({} MiB); a smaller --ctx needs less.", what,
                    bytes >> 20));
  }
  return memory;
}

}  // namespace

void CpuMemory::Free::operator()(std::byte* p) const { ::operator delete[](p, kAlignment); }

MemoryUse CpuMemory::cache_use(const Graph& graph, const CacheConfig& cache) {
  MemoryUse use;
  for (const KvSpec& spec : graph.kv) {
    const kernels::KvLayout layout{cache.type, cache.pages_of(spec.window), spec.n_kv_heads,
                                   spec.head_dim};
    use.kv += (spec.v_in_k ? 1 : 2) * layout.bytes();
  }
  for (const StateSpec& spec : graph.states)
    use.kv += (uint64_t{cache.n_sequences} + cache.n_snapshots) * spec.n * sizeof(float);
  return use;
}

Result<CpuMemory> CpuMemory::create(const Graph& graph, CpuWeights weights,
                                    const CacheConfig& cache, ArenaPlan plan) {
  CpuMemory out;
  out.use = cache_use(graph, cache);
  for (const KvSpec& spec : graph.kv) {
    if (kernels::is_block(cache.type) && spec.head_dim % 32 != 0) {
      return base::fail(
          ErrorCode::kUnsupported,
          fmt::format("The model has heads of {} elements; a cache in {} needs a multiple of 32, "
                      "--kv-type f16 takes any.",
                      spec.head_dim, name(cache.type)));
    }
    Layer layer;
    layer.layout = {cache.type, cache.pages_of(spec.window), spec.n_kv_heads, spec.head_dim};
    PUNA_TRY(layer.k, allocate(layer.layout.bytes(), "KV cache"));
    if (!spec.v_in_k) {
      PUNA_TRY(layer.v, allocate(layer.layout.bytes(), "KV cache"));
    }
    out.layers.push_back(std::move(layer));
  }
  for (const StateSpec& spec : graph.states) {
    State state;
    state.n = static_cast<size_t>(spec.n);
    const uint64_t bytes = spec.n * sizeof(float);
    PUNA_TRY(state.live, allocate(cache.n_sequences * bytes, "recurrent state"));
    PUNA_TRY(state.saved, allocate(cache.n_snapshots * bytes, "recurrent state"));
    out.states.push_back(std::move(state));
  }
  PUNA_TRY(out.arena, allocate(plan.bytes, "activations"));
  out.use.arena = plan.bytes;
  out.plan = std::move(plan);
  for (const auto& matrix : weights.matrices) out.use.weights += matrix.bytes();
  for (const auto& vector : weights.vectors) out.use.weights += vector.size() * sizeof(float);
  out.weights = std::move(weights);
  return out;
}

}  // namespace puna::plan
