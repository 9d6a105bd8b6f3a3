#include "plan/gpu_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/common/beside.h"
#include "kernels/elementwise/binary.h"
#include "kernels/embed/embed.h"
#include "kernels/gather/gather.h"
#include "kernels/norm/norm.h"
#include "kernels/sample/sample.h"
#include "plan/gpu_places.h"
#include "plan/memory.h"

namespace puna::plan {

using base::ErrorCode;
using base::Result;
using kernels::Slice;

namespace {

class Planner {
 public:
  Planner(const Graph& graph, const CacheConfig& cache, const gpu::DeviceInfo& device,
          const GpuPlanOptions& options)
      : graph_(graph), cache_(cache), device_(device), options_(options) {}

  Result<GpuPlan> run() {
    PUNA_TRY(places_.place());
    PUNA_TRY(lower_all());
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].bytes > device_.limits.max_buffer_bytes) {
        return base::fail(
            ErrorCode::kOutOfMemory,
            fmt::format(
                "The buffer \"{}\" needs {} MiB, but this device allows {} MiB a buffer; a smaller "
                "--ctx needs less.",
                plan_.buffers[i].label, plan_.buffers[i].bytes >> 20,
                device_.limits.max_buffer_bytes >> 20));
      }
    }
    return std::move(plan_);
  }

 private:
  Slice buffer(const char* label, uint64_t bytes) {
    plan_.buffers.push_back({label, aligned(bytes)});
    plan_.memory.arena += aligned(bytes);
    return {static_cast<uint32_t>(plan_.buffers.size() - 1), 0, aligned(bytes)};
  }

  // Read-only to the kernels after the router, so not in the arena.
  void place_routes() {
    uint64_t routes = 0, groups = 0;
    for (const Op& op : graph_.ops) {
      const auto* moe = std::get_if<MoeOp>(&op);
      for (uint32_t rows : options_.classes) {
        if (!moe) break;
        routes = std::max(routes, kernels::moe_routes_bytes(moe->shape, rows));
        groups = std::max(groups, kernels::moe_groups_bytes(moe->shape, rows));
      }
    }
    if (routes == 0) return;
    plan_.routes = buffer("routes", routes);
    plan_.groups = buffer("groups", groups);
  }

  Result<void> lower_all() {
    plan_.step = buffer("step", kernels::kStepWords * sizeof(uint32_t));
    plan_.pages = buffer(
        "pages", uint64_t{cache_.n_sequences} * cache_.pages_per_sequence * sizeof(uint32_t));
    plan_.ids = buffer("ids", kernels::kChosenSteps * kernels::kMaxBatch * sizeof(uint32_t));
    plan_.sampling = buffer(
        "sampling",
        kernels::sampling_bytes(graph_.vocab, std::min(options_.head_rows, kernels::kMaxBatch)));
    plan_.history =
        buffer("history", uint64_t{cache_.n_sequences} * cache_.context() * sizeof(uint32_t));
    place_routes();
    plan_.arena = buffer("arena", 0);

    // The head reads the hidden state where a body of any class left it, so one arena plan places
    // both: that of the largest class.
    arena_ = plan_arena(graph_, options_.classes.back(), options_.head_rows, scratch_sizes());
    plan_.arena.bytes = arena_.bytes;
    plan_.buffers[plan_.arena.buffer].bytes = arena_.bytes;
    plan_.memory.arena += arena_.bytes;
    plan_.logits = place(arena_.values[graph_.logits]);
    for (ValueId v : graph_.takes_over) {
      plan_.inputs.push_back({place(arena_.values[v]), graph_.values[v].columns});
    }

    for (uint32_t rows : options_.classes) {
      rows_ = rows;
      note_handovers();
      GpuPlan::BatchClass c{rows, 1, {}};
      for (size_t i = 0; i < graph_.head_begin; ++i) PUNA_TRY(lower(i, c.calls));
      c.max_splits = max_splits();
      plan_.body.push_back(std::move(c));
    }
    for (uint32_t rows : head_classes()) {
      rows_ = rows;
      note_handovers();
      GpuPlan::BatchClass head{rows, 1, {}};
      for (size_t i = graph_.head_begin; i < graph_.ops.size(); ++i) PUNA_TRY(lower(i, head.calls));
      plan_.head.push_back(std::move(head));
      if (graph_.embeds) continue;
      GpuPlan::BatchClass sample{rows, 1, {}};
      PUNA_TRY(kernels::sample(device_, sample_args(), sample.calls));
      plan_.sample.push_back(std::move(sample));
    }
    return {};
  }

  // As many rows as a body of few, and the most.
  std::vector<uint32_t> head_classes() const {
    std::vector<uint32_t> out;
    std::ranges::copy_if(options_.classes, std::back_inserter(out),
                         [this](uint32_t rows) { return rows < options_.head_rows; });
    out.push_back(options_.head_rows);
    return out;
  }

  // The most scratch of any class, by op. The sampling borrows the scratch of the last op, the
  // LM head.
  std::vector<uint64_t> scratch_sizes() {
    std::vector<uint64_t> out(graph_.ops.size(), 0);
    arena_.values.assign(graph_.values.size(), {});
    arena_.scratch.assign(graph_.ops.size(), {});
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      for (uint32_t rows : i < graph_.head_begin ? options_.classes : head_classes()) {
        rows_ = rows;
        if (const auto* product = std::get_if<MatmulOp>(&graph_.ops[i])) {
          out[i] =
              std::max(out[i], kernels::matmul_scratch_bytes(device_, matmul_args(i, *product)));
        } else if (const auto* attention = std::get_if<AttentionOp>(&graph_.ops[i])) {
          out[i] = std::max(
              out[i], kernels::attention_scratch_bytes(device_, attention_args(i, *attention)));
        } else if (const auto* heads = std::get_if<HeadsOp>(&graph_.ops[i])) {
          out[i] = std::max(out[i], kernels::matmul_scratch_bytes(device_, heads_args(i, *heads)));
        } else if (const auto* moe = std::get_if<MoeOp>(&graph_.ops[i])) {
          out[i] = std::max(out[i], kernels::moe_scratch_bytes(device_, moe_args(i, *moe)));
        }
        if (i + 1 == graph_.ops.size() && !graph_.embeds)
          out[i] = std::max(out[i], kernels::sample_scratch_bytes(sample_args()));
      }
    }
    return out;
  }

  Slice place(const ArenaPlan::Place& p) const { return {plan_.arena.buffer, p.offset, p.bytes}; }
  // Bound at the size of the class's rows, so that a small class does not claim the prefill's
  // slice.
  Slice value(ValueId id) const {
    const ArenaPlan::Place& p = arena_.values[id];
    return {
        plan_.arena.buffer, p.offset,
        std::min(p.bytes, aligned(uint64_t{rows_} * graph_.values[id].columns * sizeof(float)))};
  }
  // The whole place, for values of tokens that the head reads.
  Slice whole(ValueId id) const { return place(arena_.values[id]); }
  Slice scratch(size_t op) const { return place(arena_.scratch[op]); }

  kernels::MatmulArgs matmul_args(size_t i, const MatmulOp& op) const {
    kernels::MatmulArgs args;
    args.label = op.label;
    args.weight = plan_.weights[op.weight];
    args.step = plan_.step;
    args.x = value(op.x);
    args.y = value(op.y);
    args.y_stride = graph_.values[op.y].columns;
    args.y_column = op.y_column;
    if (op.bias) args.bias = places_.vector(*op.bias);
    args.scale = op.scale;
    args.epilogue = op.epilogue;
    args.softcap = op.softcap;
    args.activation = op.activation;
    args.numerics = options_.numerics;
    args.max_rows = rows_;
    args.x_planes = x_planes(graph_, op);
    args.profile = options_.profile;
    args.rows = graph_.values[op.x].rows;
    args.scratch = scratch(i);
    // Products before it with the same x have left the form that this one reads.
    if (op.shares_x) {
      const auto before = matmul_args(i - 1, std::get<MatmulOp>(graph_.ops[i - 1]));
      args.x_in_scratch =
          kernels::matmul_x_form(device_, before) == kernels::matmul_x_form(device_, args);
    }
    return args;
  }
  kernels::AttentionArgs attention_args(size_t i, const AttentionOp& op) const {
    kernels::AttentionArgs args;
    args.label = op.label;
    args.step = plan_.step;
    args.pages = plan_.pages;
    args.q = value(op.q);
    if (op.append) {
      args.append = {value(op.append->qkv), head_norms(*op.append), turns(*op.append),
                     op.append->v_norm,     op.append->norm_eps,    op.append->rope};
    }
    args.k_cache = places_.layer(op.layer).k;
    args.v_cache = places_.layer(op.layer).v;
    args.out = value(op.out);
    args.scratch = scratch(i);
    args.kv = places_.layer(op.layer).layout;
    args.n_heads = graph_.n_heads;
    args.pages_per_sequence = cache_.pages_per_sequence;
    args.scale = op.scale;
    args.softcap = op.softcap;
    args.window = op.window;
    args.causal = op.causal;
    args.v_dim = op.v_dim;
    if (op.sinks) args.sinks = places_.vector(*op.sinks);
    args.max_rows = rows_;
    args.numerics = options_.numerics;
    args.profile = options_.profile;
    return args;
  }
  kernels::MatmulArgs heads_args(size_t i, const HeadsOp& op) const {
    kernels::MatmulArgs args;
    args.label = op.label;
    args.weight = plan_.weights[op.weight];
    args.step = plan_.step;
    args.x = value(op.x);
    args.x_stride = op.x_stride;
    args.y = value(op.y);
    args.y_stride = op.y_stride;
    args.parts = kernels::MatmulParts{
        .n_parts = graph_.n_heads, .n_slots = graph_.n_heads, .x_of_pairs = true};
    args.numerics = options_.numerics;
    args.max_rows = rows_;
    args.scratch = scratch(i);
    return args;
  }
  kernels::MoeArgs moe_args(size_t i, const MoeOp& op) const {
    kernels::MoeArgs args;
    args.label = op.label;
    args.shape = op.shape;
    args.gate_up = plan_.weights[op.gate_up];
    args.down = plan_.weights[op.down];
    args.step = plan_.step;
    args.logits = value(op.logits);
    args.x = value(op.x);
    args.y = value(op.y);
    if (op.selection_bias) args.selection_bias = places_.vector(*op.selection_bias);
    if (op.gate_up_bias) args.gate_up_bias = places_.vector(*op.gate_up_bias);
    if (op.down_bias) args.down_bias = places_.vector(*op.down_bias);
    args.adds = op.adds;
    args.routes = plan_.routes;
    args.groups = plan_.groups;
    args.scratch = scratch(i);
    args.numerics = options_.numerics;
    args.max_rows = rows_;
    args.rows = graph_.values[op.x].rows;
    return args;
  }
  kernels::SampleArgs sample_args() const {
    kernels::SampleArgs args;
    args.label = "sample";
    args.step = plan_.step;
    args.sampling = plan_.sampling;
    args.history = plan_.history;
    args.context = cache_.context();
    args.logits = value(graph_.logits);
    args.ids = plan_.ids;
    args.scratch = scratch(graph_.ops.size() - 1);
    args.vocab = graph_.vocab;
    args.max_rows = rows_;
    return args;
  }
  // What every attention of the class takes.
  uint32_t max_splits() const {
    std::optional<uint32_t> most;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (const auto* op = std::get_if<AttentionOp>(&graph_.ops[i])) {
        const uint32_t splits = kernels::attention_max_splits(device_, attention_args(i, *op));
        most = std::min(most.value_or(splits), splits);
      }
    }
    return most.value_or(1);
  }

  Result<void> lower(size_t i, std::vector<kernels::KernelCall>& out) {
    return std::visit([&](const auto& op) { return lower(i, op, out); }, graph_.ops[i]);
  }
  Result<void> lower(size_t, const EmbedOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::embed(
        device_,
        {"embed", plan_.weights[op.weight], plan_.step, value(op.out), op.scale, op.row, op.add},
        out);
  }
  // The product of op i makes the norm of its x itself in this class.
  bool makes_norm(size_t i) const {
    const auto* op = std::get_if<MatmulOp>(&graph_.ops[i]);
    return op && op->x_norm && kernels::matmul_makes_norm(device_, matmul_args(i, *op));
  }
  // The products after norm i make it themselves, every one.
  bool is_made_by_readers(size_t i, const NormOp& norm) const {
    size_t n = 0;
    for (size_t j = i + 1; j < graph_.ops.size(); ++j, ++n) {
      const auto* product = std::get_if<MatmulOp>(&graph_.ops[j]);
      if (!product || !product->x_norm || product->x_norm->y != norm.y) break;
      if (!makes_norm(j)) return false;
    }
    return n > 0;
  }
  // What products of this class hand to those after them (kernels/matmul/matmul.h), for all ops.
  void note_handovers() {
    handed_.assign(graph_.ops.size(), {});
    hands_.assign(graph_.ops.size(), {});
    for (size_t i = 0; i + 1 < graph_.ops.size(); ++i) {
      const auto* product = std::get_if<MatmulOp>(&graph_.ops[i]);
      if (product && product->y_norm) hand_through_norm(i, *product);
      if (product && product->feeds_next) hand_bytes(i, *product);
    }
  }
  // Through the norm that is op i + 1, to all the products after it, if they agree on a form.
  void hand_through_norm(size_t i, const MatmulOp& op) {
    const ValueId y = *op.y_norm->y;
    std::optional<kernels::XForm> form;
    size_t end = i + 2;
    for (; end < graph_.ops.size(); ++end) {
      const auto* reader = std::get_if<MatmulOp>(&graph_.ops[end]);
      if (!reader || !reader->x_norm || reader->x_norm->y != y) break;
      const auto taken = kernels::matmul_takes(device_, matmul_args(end, *reader), /*normed=*/true);
      if (!taken || (form && *form != *taken)) return;
      form = taken;
    }
    if (!form || handed_slice(y, *form).bytes > arena_.values[y].bytes ||
        !kernels::matmul_hands(device_, matmul_args(i, op), *form, /*normed=*/true)) {
      return;
    }
    hands_[i] = form;
    std::fill(handed_.begin() + static_cast<ptrdiff_t>(i + 2),
              handed_.begin() + static_cast<ptrdiff_t>(end), form);
  }
  // To the next product, in the place of y.
  void hand_bytes(size_t i, const MatmulOp& op) {
    constexpr kernels::XForm kBytes = kernels::XForm::kInt8;
    const auto& reader = std::get<MatmulOp>(graph_.ops[i + 1]);
    if (kernels::matmul_takes(device_, matmul_args(i + 1, reader), /*normed=*/false) == kBytes &&
        kernels::matmul_hands(device_, matmul_args(i, op), kBytes, /*normed=*/false)) {
      hands_[i] = handed_[i + 1] = kBytes;
    }
  }
  Slice handed_slice(ValueId id, kernels::XForm form) const {
    return {plan_.arena.buffer, arena_.values[id].offset,
            kernels::matmul_handover_bytes(graph_.values[id].columns, rows_, form)};
  }
  Result<void> lower(size_t i, const NormOp& op, std::vector<kernels::KernelCall>& out) {
    const bool is_made_before = i > 0 && hands_[i - 1];
    if (is_made_before || is_made_by_readers(i, op)) return {};
    kernels::NormArgs args;
    args.label = op.label;
    args.step = plan_.step;
    args.x = value(op.x);
    if (op.post_gamma) args.post_gamma = places_.vector(*op.post_gamma);
    if (op.residual) args.residual = value(*op.residual);
    if (op.scale) args.scale = places_.vector(*op.scale);
    if (op.gamma) args.gamma = places_.vector(*op.gamma);
    if (op.y) args.y = value(*op.y);
    args.n = graph_.values[op.x].columns;
    args.eps = op.eps;
    args.rows = graph_.values[op.x].rows;
    return kernels::rms_norm(device_, args, out);
  }
  Result<void> lower(size_t, const NormPartsOp& op, std::vector<kernels::KernelCall>& out) {
    kernels::NormPartsArgs args;
    args.label = op.label;
    args.step = plan_.step;
    args.x = value(op.x);
    if (op.y) args.y = value(*op.y);
    if (op.gamma) args.gamma = places_.vector(*op.gamma);
    if (op.beta) args.beta = places_.vector(*op.beta);
    args.shape = op.shape;
    args.rows = graph_.values[op.x].rows;
    return kernels::norm_parts(device_, args, out);
  }
  Result<void> lower(size_t i, const MatmulOp& op, std::vector<kernels::KernelCall>& out) {
    kernels::MatmulArgs args = matmul_args(i, op);
    if (handed_[i]) {
      args.handed = kernels::HandedX{*handed_[i], {}};
      if (op.x_norm) {
        args.handed->norm_eps = op.x_norm->eps;
        args.x = handed_slice(op.x, *handed_[i]);
      }
    } else if (makes_norm(i)) {
      args.norm = {value(op.x_norm->x), places_.vector(*op.x_norm->gamma), op.x_norm->eps};
    }
    if (hands_[i] && op.y_norm) {
      args.hands = {handed_slice(*op.y_norm->y, *hands_[i]), *hands_[i],
                    places_.vector(*op.y_norm->gamma)};
    } else if (hands_[i]) {
      args.hands = {value(op.y), *hands_[i], {}};
    }
    const size_t before = out.size();
    PUNA_TRY(kernels::matmul(device_, args, out));
    if (op.shares_x && out.size() == before + 1) join_last(out);
    return {};
  }
  // Products with one x run side by side where they can (kernels/common/beside.h).
  void join_last(std::vector<kernels::KernelCall>& out) const {
    if (rows_ > kernels::kMatvecRows) return;
    if (auto both = kernels::beside(device_, out.end()[-2], out.back())) {
      out.pop_back();
      out.back() = *std::move(both);
    }
  }
  std::optional<Slice> head_norms(const RopeOp& op) const {
    if (!op.q_norm) return {};
    return places_.constant(norms_of(op));
  }
  std::optional<Slice> turns(const RopeOp& op) const {
    if (op.rope.n_rot == 0) return {};
    return places_.constant(factors(op), op.rope);
  }
  // In this class attention does what the rope op before it would.
  bool appends(size_t i) const {
    const auto* op = i < graph_.ops.size() ? std::get_if<AttentionOp>(&graph_.ops[i]) : nullptr;
    return op && kernels::attention_appends(device_, attention_args(i, *op));
  }
  Result<void> lower(size_t i, const RopeOp& op, std::vector<kernels::KernelCall>& out) {
    if (appends(i + 1)) return {};
    kernels::RopeArgs args;
    args.label = op.label;
    args.step = plan_.step;
    args.pages = plan_.pages;
    args.qkv = value(op.qkv);
    args.head_norms = head_norms(op);
    args.table = turns(op);
    args.q_out = value(op.q);
    args.v_norm = op.v_norm;
    args.appends = op.appends;
    args.k_cache = places_.layer(op.layer).k;
    args.v_cache = places_.layer(op.layer).v;
    args.kv = places_.layer(op.layer).layout;
    args.n_heads = graph_.n_heads;
    args.pages_per_sequence = cache_.pages_per_sequence;
    args.norm_eps = op.norm_eps;
    args.rope = op.rope;
    return kernels::rope_append(device_, args, out);
  }
  Result<void> lower(size_t i, const AttentionOp& op, std::vector<kernels::KernelCall>& out) {
    kernels::AttentionArgs args = attention_args(i, op);
    if (!kernels::attention_appends(device_, args)) args.append.reset();
    return kernels::attention(device_, args, out);
  }
  Result<void> lower(size_t, const GatherOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::gather_rows(
        device_, {"outputs", plan_.step, whole(op.x), value(op.y), graph_.values[op.x].columns},
        out);
  }
  Result<void> lower(size_t, const AddOp& op, std::vector<kernels::KernelCall>& out) {
    const ValueInfo& y = graph_.values[op.y];
    return kernels::binary(device_,
                           {.label = op.label,
                            .x = value(op.x),
                            .y = value(op.y),
                            .shape = {kernels::Binary::kAdd, y.columns},
                            .rows = y.rows},
                           out);
  }
  Result<void> lower(size_t, const ScaleOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::scale(
        device_,
        {op.label, plan_.step, value(op.y), graph_.values[op.y].columns, op.scale,
         op.by ? std::optional(places_.vector(*op.by)) : std::nullopt, graph_.values[op.y].rows},
        out);
  }
  Result<void> lower(size_t, const MultiplyOp& op, std::vector<kernels::KernelCall>& out) {
    const ValueInfo& y = graph_.values[op.y];
    return kernels::binary(device_,
                           {.label = op.label,
                            .x = value(op.x),
                            .y = value(op.y),
                            .shape = {kernels::Binary::kMultiply, y.columns,
                                      kernels::Spread::kElements, op.part, op.n_parts},
                            .rows = y.rows},
                           out);
  }
  Result<void> lower(size_t, const SoftcapOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::softcap(device_,
                            {op.label, plan_.step, value(op.y), graph_.values[op.y].columns, op.cap,
                             graph_.values[op.y].rows},
                            out);
  }
  Result<void> lower(size_t i, const HeadsOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::matmul(device_, heads_args(i, op), out);
  }
  Result<void> lower(size_t, const LatentOp& op, std::vector<kernels::KernelCall>& out) {
    kernels::MlaArgs args;
    args.label = op.label;
    args.shape = op.shape;
    args.step = plan_.step;
    args.pages = plan_.pages;
    args.q = value(op.q);
    args.kv = value(op.kv);
    args.gamma = places_.vector(op.gamma);
    args.table = places_.constant({}, op.shape.rope);
    args.q_out = value(op.q_out);
    args.k_cache = places_.layer(op.layer).k;
    args.layout = places_.layer(op.layer).layout;
    args.pages_per_sequence = cache_.pages_per_sequence;
    return kernels::mla_append(device_, args, out);
  }
  Result<void> lower(size_t i, const MoeOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::moe(device_, moe_args(i, op), out);
  }
  Result<void> lower(size_t, const GluOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::glu(device_,
                        {op.label, plan_.step, value(op.gate_up), value(op.y),
                         graph_.values[op.y].columns, op.activation, graph_.values[op.y].rows},
                        out);
  }

  Result<void> lower(size_t, const GateOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::gate(
        device_,
        {op.label, plan_.step, value(op.x), value(op.y), graph_.values[op.y].columns,
         graph_.values[op.x].columns, graph_.values[op.y].rows},
        out);
  }
  template <class RecurrentOp>
  Slice constants(const RecurrentOp& op) const {
    return places_.constant(constants_of(op));
  }
  Result<void> lower(size_t, const ConvOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::conv(device_,
                         {op.label, plan_.step, value(op.x), constants(op),
                          plan_.states[op.state].live, value(op.y), op.shape, rows_},
                         out);
  }
  Result<void> lower(size_t, const SsdOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::ssd(device_,
                        {op.label, plan_.step, value(op.xbc), value(op.in), constants(op),
                         plan_.states[op.state].live, value(op.y), op.shape, rows_},
                        out);
  }
  Result<void> lower(size_t, const DeltaOp& op, std::vector<kernels::KernelCall>& out) {
    return kernels::delta(device_,
                          {op.label, plan_.step, value(op.qkv), value(op.in), constants(op),
                           plan_.states[op.state].live, value(op.y), op.shape, rows_},
                          out);
  }
  Result<void> lower(size_t, const GroupNormOp& op, std::vector<kernels::KernelCall>& out) {
    std::optional<Slice> gate;
    if (op.gate) gate = value(*op.gate);
    return kernels::group_norm(
        device_, {op.label, value(op.x), constants(op), value(op.y), gate, op.shape}, out);
  }

  const Graph& graph_;
  const CacheConfig& cache_;
  const gpu::DeviceInfo& device_;
  const GpuPlanOptions& options_;
  GpuPlan plan_;
  GpuPlaces places_{graph_, cache_, device_, plan_};
  ArenaPlan arena_;
  // By op, in the class that is being lowered: the form in which a product before left x, and that
  // in which this product leaves its result.
  std::vector<std::optional<kernels::XForm>> handed_, hands_;
  uint32_t rows_ = 1;  // of the class being lowered
};

std::string describe(const kernels::GridDim& dim) {
  static constexpr const char* kNames[] = {"",       "tokens",    "outputs",
                                           "splits", "if split ", "if cut"};
  const char* name = kNames[static_cast<size_t>(dim.extent)];
  if (dim.extent == kernels::Extent::kOne)
    return fmt::format("{}", (dim.mul + dim.div - 1) / dim.div);
  std::string out = name;
  if (dim.mul != 1) out = fmt::format("{}*{}", out, dim.mul);
  if (dim.div != 1) out = fmt::format("ceil({}/{})", out, dim.div);
  if (dim.add != 0) out = fmt::format("{}+{}", out, dim.add);
  return out;
}

void describe(const char* title, const std::vector<GpuPlan::BatchClass>& classes,
              std::string& out) {
  for (const GpuPlan::BatchClass& c : classes) {
    out += fmt::format("{} up to {} rows: {} dispatches\n", title, c.max_rows, c.calls.size());
    for (const kernels::KernelCall& call : c.calls) {
      out += fmt::format("  {:<28} {} grid {} x {} x {}\n", call.kernel, call.label,
                         describe(call.x), describe(call.y), describe(call.z));
    }
  }
}

}  // namespace

Result<GpuPlan> plan_gpu(const Graph& graph, const CacheConfig& cache,
                         const gpu::DeviceInfo& device, const GpuPlanOptions& options) {
  return Planner(graph, cache, device, options).run();
}

std::string describe(const GpuPlan& plan) {
  std::string out;
  for (const GpuPlan::Buffer& buffer : plan.buffers)
    out += fmt::format("buffer {:<14} {} bytes\n", buffer.label, buffer.bytes);
  out += fmt::format("weights {} bytes, kv {} bytes, arena {} bytes\n", plan.memory.weights,
                     plan.memory.kv, plan.memory.arena);
  describe("body", plan.body, out);
  describe("head", plan.head, out);
  describe("sample", plan.sample, out);
  return out;
}

}  // namespace puna::plan
