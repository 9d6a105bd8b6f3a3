#include "plan/cpu_program.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "kernels/sample/sample.h"
#include "plan/cpu_run.h"

namespace puna::plan {

using base::Result;

namespace {

// Scratch each op wants.
std::vector<uint64_t> scratch_bytes(const Graph& graph, uint32_t step_rows, uint32_t head_rows,
                                    int n_threads) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const uint32_t rows = i < graph.head_begin ? step_rows : head_rows;
    out.push_back(cpu_scratch_bytes(graph.ops[i], graph, rows, n_threads));
  }
  return out;
}

uint32_t head_rows_of(const CacheConfig& cache) {
  if (cache.head_rows > 0) return cache.head_rows;
  return std::clamp(cache.n_sequences, kHeadRows, kernels::kMaxBatch);
}

ArenaPlan arena_of(const Graph& graph, const CacheConfig& cache, int n_threads) {
  const uint32_t head_rows = head_rows_of(cache);
  return plan_arena(graph, cache.step_rows, head_rows,
                    scratch_bytes(graph, cache.step_rows, head_rows, n_threads));
}

}  // namespace

MemoryUse CpuProgram::memory_of(const Graph& graph, const CacheConfig& cache, int n_threads) {
  MemoryUse use = CpuMemory::cache_use(graph, cache);
  use.arena = arena_of(graph, cache, n_threads).bytes;
  for (const WeightSpec& spec : graph.weights) {
    if (spec.rows > 0)
      use.weights += kernels::CpuMatrix::packed_bytes(spec.type, spec.rows, spec.columns);
  }
  for (const VectorSpec& spec : graph.vectors) use.weights += uint64_t{spec.n} * sizeof(float);
  return use;
}

Result<std::unique_ptr<CpuProgram>> CpuProgram::create(Graph graph, CpuWeights weights,
                                                       const CacheConfig& cache,
                                                       base::ThreadPool& pool) {
  auto program = std::make_unique<CpuProgram>();
  program->head_rows_ = head_rows_of(cache);
  ArenaPlan plan = arena_of(graph, cache, pool.n_threads());
  PUNA_TRY(program->memory_, CpuMemory::create(graph, std::move(weights), cache, std::move(plan)));
  program->graph_ = std::move(graph);
  program->cache_ = cache;
  program->pool_ = &pool;
  return program;
}

void CpuProgram::save_state(uint32_t sequence, uint32_t snapshot) {
  for (const CpuMemory::State& s : memory_.states)
    std::memcpy(s.snapshot(snapshot), s.slot(sequence), s.n * sizeof(float));
}

void CpuProgram::restore_state(uint32_t snapshot, uint32_t sequence) {
  for (const CpuMemory::State& s : memory_.states)
    std::memcpy(s.slot(sequence), s.snapshot(snapshot), s.n * sizeof(float));
}

std::vector<std::span<std::byte>> CpuProgram::page(uint32_t index, bool of_windows) {
  std::vector<std::span<std::byte>> out;
  for (size_t i = 0; i < memory_.layers.size(); ++i) {
    const CpuMemory::Layer& layer = memory_.layers[i];
    if (cache_.by_window(graph_.kv[i].window) != of_windows) continue;
    for (const CpuMemory::Bytes* slice : {&layer.k, &layer.v}) {
      if (!*slice) continue;  // values that are part of the keys
      for (const auto& [offset, bytes] : layer.layout.page(index))
        out.emplace_back(slice->get() + offset, static_cast<size_t>(bytes));
    }
  }
  return out;
}

std::span<std::byte> CpuProgram::saved_state(StateId state, uint32_t snapshot) {
  const CpuMemory::State& s = memory_.states[state];
  return std::as_writable_bytes(std::span(s.snapshot(snapshot), s.n));
}

void CpuProgram::hand_over(uint32_t n_tokens, std::span<float> out) const {
  for (ValueId v : graph_.hands_over) {
    const size_t n = size_t{n_tokens} * graph_.values[v].columns;
    PUNA_CHECK(n <= out.size());
    std::memcpy(out.data(), memory_.value(v), n * sizeof(float));
    out = out.subspan(n);
  }
  PUNA_CHECK(out.empty());
}

// What is handed to the step, at the places of its values.
void CpuProgram::take_over(const Step& step) {
  std::span<const float> handed = step.handed;
  for (const ValueId v : graph_.takes_over) {
    const size_t n = size_t{step.n_tokens()} * graph_.values[v].columns;
    PUNA_CHECK(n <= handed.size());
    std::memcpy(memory_.value(v), handed.data(), n * sizeof(float));
    handed = handed.subspan(n);
  }
  PUNA_CHECK(handed.empty());
}

CpuRun CpuProgram::run_of(const Step& step, const Pages& pages) const {
  return {graph_,
          memory_,
          *pool_,
          {step.n_tokens(), step.positions.data(), step.sequences.data(), pages.all.data(),
           cache_.pages_per_sequence, step.places.empty() ? nullptr : step.places.data()},
          pages.window.empty() ? nullptr : pages.window.data(),
          step.tokens,
          step.media,
          {}};
}

void CpuProgram::run(const Step& step, const Pages& pages, std::span<float> logits,
                     std::span<double> op_us) {
  PUNA_CHECK(step.n_tokens() <= cache_.step_rows);
  take_over(step);
  PUNA_CHECK(!graph_.hands_over.empty() ||
             logits.size() == step.output_rows.size() * graph_.n_out());
  CpuRun at = run_of(step, pages);
  const auto run_ops = [&](size_t begin, size_t end) {
    for (at.op = begin; at.op < end; ++at.op) {
      const base::Timer timer;
      std::visit([&](const auto& op) { op.run(at); }, graph_.ops[at.op]);
      if (!op_us.empty()) op_us[at.op] = timer.ms() * 1000;
    }
  };
  run_ops(0, graph_.head_begin);
  if (!graph_.hands_over.empty()) return hand_over(step.n_tokens(), logits);
  for (size_t first = 0; first < step.output_rows.size(); first += head_rows_) {
    const size_t n = std::min<size_t>(head_rows_, step.output_rows.size() - first);
    at.outputs = std::span(step.output_rows).subspan(first, n);
    run_ops(graph_.head_begin, graph_.ops.size());
    const size_t width = graph_.n_out();
    std::memcpy(logits.data() + first * width, at.value(graph_.logits), n * width * sizeof(float));
  }
}

void CpuProgram::run_op(size_t op, uint32_t n_rows, std::span<const float> x, std::span<float> y) {
  PUNA_CHECK(n_rows <= cache_.step_rows);
  const auto floats = [&](ValueId v) { return size_t{n_rows} * graph_.values[v].columns; };
  for (const ValueId v : reads(graph_.ops[op])) {
    PUNA_CHECK(floats(v) <= x.size());
    std::memcpy(memory_.value(v), x.data(), floats(v) * sizeof(float));
    x = x.subspan(floats(v));
  }
  CpuRun at{graph_, memory_, *pool_, {}, nullptr, {}, {}, {}};
  at.step.n_tokens = n_rows;
  at.op = op;
  std::visit([&](const auto& o) { o.run(at); }, graph_.ops[op]);
  const ValueId written = writes(graph_.ops[op]).front();
  PUNA_CHECK(x.empty() && y.size() == floats(written));
  std::memcpy(y.data(), memory_.value(written), y.size_bytes());
}

size_t CpuProgram::run_part(const Step& step, size_t first, std::span<float> out,
                            const std::function<bool()>& enough) {
  PUNA_CHECK(step.n_tokens() <= cache_.step_rows && step.output_rows.size() <= head_rows_ &&
             out.size() == step.output_rows.size() * graph_.n_out());
  if (first == 0) take_over(step);
  CpuRun at = run_of(step, {});
  at.outputs = step.output_rows;
  at.op = first;
  do {
    std::visit([&](const auto& op) { op.run(at); }, graph_.ops[at.op]);
    ++at.op;
  } while (at.op < graph_.ops.size() && !enough());
  if (at.op == graph_.ops.size())
    std::memcpy(out.data(), at.value(graph_.logits), out.size_bytes());
  return at.op;
}

}  // namespace puna::plan
