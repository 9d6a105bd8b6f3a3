#include "plan/cpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/clock.h"
#include "kernels/elementwise/binary.h"
#include "kernels/embed/embed.h"
#include "kernels/norm/norm.h"
#include "kernels/sample/sample.h"

namespace puna::plan {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::align_val_t kAlignment{64};

// Which logits are computed exactly: at most this far below the largest (0.7 % of its probability),
// and so many of a row. docs/numerics.md has what they buy.
constexpr float kSharpWithin = 5;
constexpr uint32_t kSharpCount = 32;

// Of one head.
uint64_t heads_scratch_bytes(const Graph& graph, const HeadsOp& op, uint32_t rows) {
  return kernels::matmul_cpu_scratch_bytes(graph.weights[op.weight].columns, rows);
}

// Scratch each op wants on the CPU.
std::vector<uint64_t> scratch_bytes(const Graph& graph, uint32_t head_rows, int n_threads) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const uint32_t rows = i < graph.head_begin ? kernels::kMaxStepTokens : head_rows;
    uint64_t bytes = 0;
    if (const auto* product = std::get_if<MatmulOp>(&graph.ops[i])) {
      bytes = kernels::matmul_cpu_scratch_bytes(graph.values[product->x].columns,
                                                rows * x_planes(graph, *product));
    } else if (const auto* attention = std::get_if<AttentionOp>(&graph.ops[i])) {
      bytes = kernels::attention_cpu_scratch_bytes(n_threads, graph.n_heads,
                                                   graph.kv[attention->layer].head_dim, rows);
    } else if (const auto* heads = std::get_if<HeadsOp>(&graph.ops[i])) {
      bytes = graph.n_heads * heads_scratch_bytes(graph, *heads, rows);
    } else if (const auto* moe = std::get_if<MoeOp>(&graph.ops[i])) {
      bytes = kernels::moe_cpu_scratch_bytes(moe->shape, rows);
    }
    out.push_back(bytes);
  }
  return out;
}

}  // namespace

void CpuProgram::Free::operator()(std::byte* p) const { ::operator delete[](p, kAlignment); }

Result<CpuProgram::Bytes> CpuProgram::allocate(uint64_t bytes, const char* what) {
  Bytes memory;
  if (bytes <= SIZE_MAX / 2)
    memory.reset(new (kAlignment, std::nothrow)
                     std::byte[std::max<size_t>(static_cast<size_t>(bytes), 1)]);
  if (!memory) {
    return base::fail(
        ErrorCode::kOutOfMemory,
        fmt::format("There is no memory for the {} ({} MiB); a smaller --ctx needs less.", what,
                    bytes >> 20));
  }
  return memory;
}

Result<std::unique_ptr<CpuProgram>> CpuProgram::create(Graph graph, CpuWeights weights,
                                                       const CacheConfig& cache,
                                                       base::ThreadPool& pool) {
  auto program = std::make_unique<CpuProgram>();
  const uint32_t head_rows = std::clamp(cache.n_sequences, kHeadRows, kernels::kMaxBatch);
  program->head_rows_ = head_rows;
  program->plan_ = plan_arena(graph, kernels::kMaxStepTokens, head_rows,
                              scratch_bytes(graph, head_rows, pool.n_threads()));
  for (const KvSpec& spec : graph.kv) {
    if (kernels::is_block(cache.type) && spec.head_dim % 32 != 0) {
      return base::fail(
          ErrorCode::kUnsupported,
          fmt::format("The model has heads of {} elements; a cache in {} needs a multiple of 32, "
                      "--kv-type f16 takes any.",
                      spec.head_dim, name(cache.type)));
    }
    Layer layer;
    layer.layout = {cache.type, cache.n_pages, spec.n_kv_heads, spec.head_dim};
    PUNA_TRY(layer.k, allocate(layer.layout.bytes(), "KV cache"));
    if (!spec.v_in_k) {
      PUNA_TRY(layer.v, allocate(layer.layout.bytes(), "KV cache"));
    }
    program->memory_.kv += (spec.v_in_k ? 1 : 2) * layer.layout.bytes();
    program->layers_.push_back(std::move(layer));
  }
  for (const StateSpec& spec : graph.states) {
    State state;
    state.n = static_cast<size_t>(spec.n);
    const uint64_t bytes = spec.n * sizeof(float);
    PUNA_TRY(state.live, allocate(cache.n_sequences * bytes, "recurrent state"));
    PUNA_TRY(state.saved, allocate(cache.n_snapshots * bytes, "recurrent state"));
    program->memory_.kv += (cache.n_sequences + cache.n_snapshots) * bytes;
    program->states_.push_back(std::move(state));
  }
  PUNA_TRY(program->arena_, allocate(program->plan_.bytes, "activations"));
  program->memory_.arena = program->plan_.bytes;
  for (const auto& matrix : weights.matrices) program->memory_.weights += matrix.bytes();
  for (const auto& vector : weights.vectors)
    program->memory_.weights += vector.size() * sizeof(float);
  program->graph_ = std::move(graph);
  program->weights_ = std::move(weights);
  program->cache_ = cache;
  program->pool_ = &pool;
  return program;
}

// Runs one op on the given rows.
struct CpuProgram::Runner {
  CpuProgram& program;
  kernels::CpuStep step;
  std::span<const int32_t> tokens;
  std::span<const uint32_t> outputs;  // rows picked by the gather
  size_t op_index = 0;

  float* value(ValueId id) const {
    return reinterpret_cast<float*>(program.arena_.get() + program.plan_.values[id].offset);
  }
  const float* vector(const std::optional<VectorId>& id) const {
    return id ? program.weights_.vectors[*id].data() : nullptr;
  }
  std::byte* scratch() const {
    return program.arena_.get() + program.plan_.scratch[op_index].offset;
  }
  uint32_t columns(ValueId id) const { return program.graph_.values[id].columns; }
  uint32_t n_rows(ValueId id) const {
    return program.graph_.values[id].rows == Rows::kTokens ? step.n_tokens
                                                           : static_cast<uint32_t>(outputs.size());
  }
  base::ThreadPool& pool() const { return *program.pool_; }

  void operator()(const EmbedOp& op) const {
    const int32_t* const rows[] = {tokens.data(), step.positions, nullptr};  // by EmbedRow
    kernels::embed_cpu(pool(),
                       {&program.weights_.matrices[op.weight], rows[static_cast<size_t>(op.row)],
                        step.n_tokens, value(op.out), op.scale, op.add});
  }
  void operator()(const NormOp& op) const {
    kernels::NormCpuArgs args;
    args.x = value(op.x);
    args.post_gamma = vector(op.post_gamma);
    args.residual = op.residual ? value(*op.residual) : nullptr;
    args.scale = vector(op.scale);
    args.gamma = vector(op.gamma);
    args.y = op.y ? value(*op.y) : nullptr;
    args.n_rows = n_rows(op.x);
    args.n = columns(op.x);
    args.eps = op.eps;
    kernels::rms_norm_cpu(pool(), args);
  }
  void operator()(const NormPartsOp& op) const {
    kernels::norm_parts_cpu(pool(), {value(op.x), op.y ? value(*op.y) : nullptr, vector(op.gamma),
                                     vector(op.beta), op.shape, n_rows(op.x)});
  }
  kernels::XForm x_form(const MatmulOp& op) const {
    const auto& weight = program.weights_.matrices[op.weight];
    return kernels::matmul_cpu_x_form(weight.type(), weight.numerics(), n_rows(op.x));
  }
  // The product that gives logits, from int8 activations: the widest of all. Where it is bound by
  // arithmetic and not by memory, a second plane of activations would cost what it saves elsewhere;
  // the few logits that matter are computed exactly instead.
  bool is_sharpened(const MatmulOp& op) const {
    return op.y == program.graph_.logits && !program.graph_.embeds &&
           x_form(op) == kernels::XForm::kInt8;
  }
  void operator()(const MatmulOp& op) const {
    kernels::MatmulCpuArgs args;
    args.weight = &program.weights_.matrices[op.weight];
    args.x = value(op.x);
    args.y = value(op.y);
    args.n_rows = n_rows(op.x);
    args.y_stride = columns(op.y);
    args.y_column = op.y_column;
    args.bias = vector(op.bias);
    args.scale = op.scale;
    args.epilogue = op.epilogue;
    args.softcap = op.softcap;
    args.activation = op.activation;
    args.x_planes = is_sharpened(op) ? 1 : x_planes(program.graph_, op);
    args.scratch = scratch();
    // The product before it has left x only in the form that it read itself.
    args.x_in_scratch =
        op.shares_x && x_form(std::get<MatmulOp>(program.graph_.ops[op_index - 1])) == x_form(op);
    kernels::matmul_cpu(pool(), args);
    if (is_sharpened(op)) kernels::matmul_top_cpu(pool(), args, kSharpWithin, kSharpCount);
  }
  void operator()(const RopeOp& op) const {
    kernels::RopeCpuArgs args;
    args.step = step;
    args.qkv = value(op.qkv);
    args.q_norm = vector(op.q_norm);
    args.k_norm = vector(op.k_norm);
    args.freq_factors = vector(op.freq_factors);
    args.q_out = value(op.q);
    args.k_cache = program.layers_[op.layer].k.get();
    args.v_cache = program.layers_[op.layer].v.get();
    if (!op.appends) args.k_cache = args.v_cache = nullptr;
    args.v_norm = op.v_norm;
    args.kv = program.layers_[op.layer].layout;
    args.n_heads = program.graph_.n_heads;
    args.norm_eps = op.norm_eps;
    args.rope = op.rope;
    kernels::rope_append_cpu(pool(), args);
  }
  void operator()(const AttentionOp& op) const {
    kernels::AttentionCpuArgs args;
    args.step = step;
    args.q = value(op.q);
    args.k_cache = program.layers_[op.layer].k.get();
    args.v_cache =
        program.graph_.kv[op.layer].v_in_k ? args.k_cache : program.layers_[op.layer].v.get();
    args.v_dim = op.v_dim;
    args.out = value(op.out);
    args.kv = program.layers_[op.layer].layout;
    args.n_heads = program.graph_.n_heads;
    args.scale = op.scale;
    args.softcap = op.softcap;
    args.window = op.window;
    args.causal = op.causal;
    args.sinks = vector(op.sinks);
    args.scratch = scratch();
    kernels::attention_cpu(pool(), args);
  }
  void operator()(const HeadsOp& op) const {
    const uint32_t n_heads = program.graph_.n_heads;
    const uint64_t bytes = heads_scratch_bytes(program.graph_, op, n_rows(op.x));
    std::vector<kernels::MatmulCpuArgs> products(n_heads);
    for (uint32_t h = 0; h < n_heads; ++h) {
      kernels::MatmulCpuArgs& args = products[h];
      args.weight = &program.weights_.matrices[op.weight];
      args.n_weight_rows = args.weight->rows() / n_heads;
      args.first_row = h * args.n_weight_rows;
      args.x = value(op.x) + size_t{h} * op.x_stride;
      args.x_stride = n_heads * op.x_stride;
      args.y = value(op.y) + size_t{h} * op.y_stride;
      args.y_stride = n_heads * op.y_stride;
      args.n_rows = n_rows(op.x);
      args.scratch = scratch() + h * bytes;
    }
    kernels::matmul_cpu(pool(), products);
  }
  void operator()(const LatentOp& op) const {
    kernels::MlaCpuArgs args;
    args.shape = op.shape;
    args.step = step;
    args.q = value(op.q);
    args.kv = value(op.kv);
    args.gamma = vector(op.gamma);
    args.q_out = value(op.q_out);
    args.k_cache = program.layers_[op.layer].k.get();
    args.layout = program.layers_[op.layer].layout;
    kernels::mla_append_cpu(pool(), args);
  }
  void operator()(const MoeOp& op) const {
    kernels::MoeCpuArgs args;
    args.shape = op.shape;
    args.gate_up = &program.weights_.matrices[op.gate_up];
    args.down = &program.weights_.matrices[op.down];
    args.logits = value(op.logits);
    args.selection_bias = vector(op.selection_bias);
    args.gate_up_bias = vector(op.gate_up_bias);
    args.down_bias = vector(op.down_bias);
    args.x = value(op.x);
    args.y = value(op.y);
    args.adds = op.adds;
    args.n_rows = n_rows(op.x);
    args.scratch = scratch();
    kernels::moe_cpu(pool(), args);
  }
  void operator()(const GatherOp& op) const {
    const size_t n = columns(op.x);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::memcpy(value(op.y) + i * n, value(op.x) + outputs[i] * n, n * sizeof(float));
    }
  }
  uint64_t elements(ValueId id) const { return uint64_t{n_rows(id)} * columns(id); }
  void operator()(const AddOp& op) const {
    kernels::binary_cpu(
        pool(), {value(op.x), value(op.y), n_rows(op.y), {kernels::Binary::kAdd, columns(op.y)}});
  }
  void operator()(const ScaleOp& op) const {
    kernels::scale_cpu(pool(), value(op.y), elements(op.y), op.by ? *vector(op.by) : op.scale);
  }
  void operator()(const MultiplyOp& op) const {
    kernels::binary_cpu(pool(), {value(op.x),
                                 value(op.y),
                                 n_rows(op.y),
                                 {kernels::Binary::kMultiply, columns(op.y),
                                  kernels::Spread::kElements, op.part, op.n_parts}});
  }
  void operator()(const SoftcapOp& op) const {
    kernels::softcap_cpu(pool(), value(op.y), elements(op.y), op.cap);
  }
  void operator()(const GluOp& op) const {
    kernels::glu_cpu(pool(), value(op.gate_up), value(op.y), n_rows(op.y), columns(op.y),
                     op.activation);
  }
  void operator()(const GateOp& op) const {
    kernels::gate_cpu(pool(), value(op.x), value(op.y), n_rows(op.y), columns(op.y), columns(op.x));
  }
  void operator()(const ConvOp& op) const {
    kernels::conv_cpu(pool(), {step, value(op.x), vector(op.weights), vector(op.bias),
                               program.states_[op.state].slot(0), value(op.y), op.shape});
  }
  void operator()(const SsdOp& op) const {
    kernels::ssd_cpu(
        pool(), {step, value(op.xbc), value(op.in), vector(op.a), vector(op.d), vector(op.dt_bias),
                 program.states_[op.state].slot(0), value(op.y), op.shape});
  }
  void operator()(const DeltaOp& op) const {
    kernels::delta_cpu(pool(), {step, value(op.qkv), value(op.in), vector(op.a), vector(op.dt_bias),
                                program.states_[op.state].slot(0), value(op.y), op.shape});
  }
  void operator()(const GroupNormOp& op) const {
    kernels::group_norm_cpu(
        pool(), {value(op.x), vector(op.gamma), op.gate ? value(*op.gate) : nullptr, value(op.y),
                 n_rows(op.x), op.shape});
  }
};

void CpuProgram::save_state(uint32_t sequence, uint32_t snapshot) {
  for (const State& s : states_)
    std::memcpy(s.snapshot(snapshot), s.slot(sequence), s.n * sizeof(float));
}

void CpuProgram::restore_state(uint32_t snapshot, uint32_t sequence) {
  for (const State& s : states_)
    std::memcpy(s.slot(sequence), s.snapshot(snapshot), s.n * sizeof(float));
}

std::vector<std::span<std::byte>> CpuProgram::page(uint32_t index) {
  std::vector<std::span<std::byte>> out;
  for (const Layer& layer : layers_) {
    for (const Bytes* slice : {&layer.k, &layer.v}) {
      if (!*slice) continue;  // values that are part of the keys
      for (const auto& [offset, bytes] : layer.layout.page(index))
        out.emplace_back(slice->get() + offset, static_cast<size_t>(bytes));
    }
  }
  return out;
}

std::span<std::byte> CpuProgram::saved_state(StateId state, uint32_t snapshot) {
  const State& s = states_[state];
  return std::as_writable_bytes(std::span(s.snapshot(snapshot), s.n));
}

void CpuProgram::hand_over(uint32_t n_tokens, std::span<float> out) const {
  for (ValueId v : graph_.hands_over) {
    const size_t n = size_t{n_tokens} * graph_.values[v].columns;
    PUNA_CHECK(n <= out.size());
    std::memcpy(out.data(), arena_.get() + plan_.values[v].offset, n * sizeof(float));
    out = out.subspan(n);
  }
  PUNA_CHECK(out.empty());
}

void CpuProgram::run(const Step& step, std::span<const uint32_t> pages, std::span<float> logits,
                     std::span<double> op_us) {
  PUNA_CHECK(step.n_tokens() <= kernels::kMaxStepTokens);
  PUNA_CHECK(graph_.takes_over.empty());
  PUNA_CHECK(!graph_.hands_over.empty() ||
             logits.size() == step.output_rows.size() * graph_.n_out());
  Runner runner{*this,
                {step.n_tokens(), step.positions.data(), step.sequences.data(), pages.data(),
                 cache_.pages_per_sequence},
                step.tokens,
                {}};
  const auto run_op = [&] {
    const base::Timer timer;
    std::visit(runner, graph_.ops[runner.op_index]);
    if (!op_us.empty()) op_us[runner.op_index] = timer.ms() * 1000;
  };
  for (runner.op_index = 0; runner.op_index < graph_.head_begin; ++runner.op_index) run_op();
  if (!graph_.hands_over.empty()) return hand_over(step.n_tokens(), logits);
  for (size_t first = 0; first < step.output_rows.size(); first += head_rows_) {
    const size_t n = std::min<size_t>(head_rows_, step.output_rows.size() - first);
    runner.outputs = std::span(step.output_rows).subspan(first, n);
    for (runner.op_index = graph_.head_begin; runner.op_index < graph_.ops.size();
         ++runner.op_index) {
      run_op();
    }
    const size_t width = graph_.n_out();
    std::memcpy(logits.data() + first * width, runner.value(graph_.logits),
                n * width * sizeof(float));
  }
}

}  // namespace puna::plan
