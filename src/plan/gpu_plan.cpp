#include "plan/gpu_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "kernels/matmul/matmul.h"
#include "kernels/sample/sample.h"
#include "plan/gpu_lowering.h"
#include "plan/gpu_places.h"
#include "plan/media.h"
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
  struct Class {
    uint32_t rows = 1;
    bool prompts = false;
  };

  Slice buffer(const char* label, uint64_t bytes) {
    plan_.buffers.push_back({label, aligned(bytes)});
    plan_.memory.arena += aligned(bytes);
    return {static_cast<uint32_t>(plan_.buffers.size() - 1), 0, aligned(bytes)};
  }

  Result<void> lower_all() {
    plan_.places = reads_places(graph_);
    const uint32_t step_words = plan_.places ? kernels::kStepWordsOfMedia : kernels::kStepWords;
    plan_.step = buffer("step", step_words * sizeof(uint32_t));
    plan_.pages = buffer(
        "pages", uint64_t{cache_.n_sequences} * cache_.pages_per_sequence * sizeof(uint32_t));
    if (cache_.n_window_pages > 0) plan_.window_pages = buffer("window pages", plan_.pages.bytes);
    if (graph_.hands_over.empty()) plan_choices();
    if (const auto [routes, groups] = routes_bytes(graph_, rows_of_classes()); routes > 0) {
      plan_.routes = buffer("routes", routes);
      plan_.groups = buffer("groups", groups);
    }
    if (reads_media(graph_)) {
      plan_.media = buffer("media", uint64_t{most_rows()} * graph_.media_columns * sizeof(float));
    }
    plan_.arena = buffer("arena", 0);

    // The head reads the hidden state where a body of any class left it, so one arena plan places
    // both: that of the largest class.
    arena_ = plan_arena(graph_, most_rows(), options_.head_rows, scratch_sizes());
    plan_.arena.bytes = arena_.bytes;
    plan_.buffers[plan_.arena.buffer].bytes = arena_.bytes;
    plan_.memory.arena += arena_.bytes;
    plan_.logits = at(0).whole(graph_.logits);
    for (ValueId v : graph_.takes_over)
      plan_.inputs.push_back({at(0).whole(v), graph_.values[v].columns});
    for (ValueId v : graph_.hands_over)
      plan_.outputs.push_back({at(0).whole(v), graph_.values[v].columns});

    for (const Class& c : body_classes()) {
      begin_class(c);
      PUNA_TRY(GpuPlan::BatchClass body, lower(0, graph_.head_begin));
      body.attention = attention_limits(at(0));
      plan_.body.push_back(std::move(body));
    }
    if (!graph_.hands_over.empty()) return {};
    for (const Class& c : head_classes()) {
      begin_class(c);
      PUNA_TRY(GpuPlan::BatchClass head, lower(graph_.head_begin, graph_.ops.size()));
      plan_.head.push_back(std::move(head));
      if (graph_.embeds) continue;
      GpuPlan::BatchClass sample{c.rows};
      PUNA_TRY(kernels::sample(device_, sample_args(), sample.calls));
      plan_.sample.push_back(std::move(sample));
    }
    return {};
  }

  // What the sampler reads and writes.
  void plan_choices() {
    plan_.ids = buffer("ids", kernels::kChosenSteps * kernels::kMaxBatch * sizeof(uint32_t));
    plan_.sampling = buffer(
        "sampling",
        kernels::sampling_bytes(graph_.vocab, std::min(options_.head_rows, kernels::kMaxBatch)));
    plan_.history =
        buffer("history", uint64_t{cache_.n_sequences} * cache_.context() * sizeof(uint32_t));
  }

  void begin_class(const Class& c) {
    class_ = c;
    handovers_ = handovers(at(0));
  }
  // The calls of ops [begin, end).
  Result<GpuPlan::BatchClass> lower(size_t begin, size_t end) {
    GpuPlan::BatchClass out{class_.rows, class_.prompts};
    for (size_t i = begin; i < end; ++i) {
      if (const auto* op = std::get_if<HostOp>(&graph_.ops[i]))
        out.host_calls.push_back(host_call(*op, at(i), out.calls.size()));
      PUNA_TRY(
          std::visit([&](const auto& op) { return op.lower(at(i), out.calls); }, graph_.ops[i]));
    }
    return out;
  }
  static GpuPlan::HostCall host_call(const HostOp& op, const GpuLowering& at, size_t n_before) {
    GpuPlan::HostCall out{op.label, op.index, n_before, {}, {at.value(op.y), at.columns(op.y)}};
    for (ValueId x : op.x) out.x.push_back({at.value(x), at.columns(x)});
    return out;
  }
  // Op i in the class that is being lowered.
  GpuLowering at(size_t i) const {
    return {graph_, cache_,     device_,     options_,       plan_, places_,
            arena_, handovers_, class_.rows, class_.prompts, i};
  }

  // As many rows as a body of few, and the most.
  std::vector<Class> head_classes() const {
    std::vector<Class> out;
    for (const uint32_t rows : options_.classes) {
      if (rows < options_.head_rows) out.push_back({rows});
    }
    out.push_back({options_.head_rows});
    return out;
  }
  std::vector<Class> body_classes() const {
    std::vector<Class> out;
    for (const uint32_t rows : options_.classes) out.push_back({rows});
    for (const uint32_t rows : options_.prompt_classes) out.push_back({rows, /*prompts=*/true});
    return out;
  }
  std::vector<uint32_t> rows_of_classes() const {
    std::vector<uint32_t> out;
    std::ranges::transform(body_classes(), std::back_inserter(out), &Class::rows);
    return out;
  }
  uint32_t most_rows() const { return options_.prompt_classes.back(); }

  // The most scratch of any class, by op. The sampling borrows the scratch of the last op, the
  // LM head.
  std::vector<uint64_t> scratch_sizes() {
    std::vector<uint64_t> out(graph_.ops.size(), 0);
    arena_.values.assign(graph_.values.size(), {});
    arena_.scratch.assign(graph_.ops.size(), {});
    const std::vector<Class> of_body = body_classes(), of_head = head_classes();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      for (const Class& c : i < graph_.head_begin ? of_body : of_head) {
        class_ = c;
        out[i] = std::max(out[i], gpu_scratch_bytes(graph_.ops[i], at(i)));
        if (i + 1 == graph_.ops.size() && !graph_.embeds && graph_.hands_over.empty())
          out[i] = std::max(out[i], kernels::sample_scratch_bytes(sample_args()));
      }
    }
    return out;
  }

  kernels::SampleArgs sample_args() const {
    const GpuLowering last = at(graph_.ops.size() - 1);
    kernels::SampleArgs args;
    args.label = "sample";
    args.step = plan_.step;
    args.sampling = plan_.sampling;
    args.history = plan_.history;
    args.context = cache_.context();
    args.logits = last.value(graph_.logits);
    args.ids = plan_.ids;
    args.scratch = last.scratch();
    args.vocab = graph_.vocab;
    args.max_rows = class_.rows;
    args.places = plan_.places;
    return args;
  }
  const Graph& graph_;
  const CacheConfig& cache_;
  const gpu::DeviceInfo& device_;
  const GpuPlanOptions& options_;
  GpuPlan plan_;
  GpuPlaces places_{graph_, cache_, device_, plan_};
  ArenaPlan arena_;
  Class class_;  // that is being lowered
  Handovers handovers_;
};

std::string describe(const kernels::GridDim& dim) {
  static constexpr const char* kNames[] = {"",         "tokens", "outputs", "splits", "if split",
                                           "if whole", "if cut", "singles", "others"};
  static_assert(std::size(kNames) == static_cast<size_t>(kernels::Extent::kOthers) + 1);
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
    out += fmt::format("{} up to {} rows{}: {} dispatches\n", title, c.max_rows,
                       c.prompts ? " of prompts" : "", c.calls.size());
    auto host_call = c.host_calls.begin();
    for (size_t i = 0; i <= c.calls.size(); ++i) {
      for (; host_call != c.host_calls.end() && host_call->n_before == i; ++host_call)
        out += fmt::format("  {:<28} {}\n", "on the CPU", host_call->label);
      if (i == c.calls.size()) break;
      const kernels::KernelCall& call = c.calls[i];
      out += fmt::format("  {:<28} {} grid {} x {} x {}\n", call.kernel, call.label,
                         describe(call.x), describe(call.y), describe(call.z));
    }
  }
}

}  // namespace

uint64_t GpuPlan::HostCall::x_bytes(uint32_t rows) const {
  uint64_t out = 0;
  for (const Activation& value : x) out += uint64_t{rows} * value.columns * sizeof(float);
  return out;
}

size_t class_for(std::span<const GpuPlan::BatchClass> classes, uint32_t rows, bool with_prompts) {
  PUNA_CHECK(rows <= classes.back().max_rows);
  const auto takes = [&](const GpuPlan::BatchClass& c) {
    const bool for_prompts = c.prompts || c.max_rows <= kernels::kMatvecRows;
    return rows <= c.max_rows && (for_prompts || !with_prompts);
  };
  // The last takes what no other does, whatever its size.
  const auto found = std::find_if(classes.begin(), classes.end() - 1, takes);
  return static_cast<size_t>(found - classes.begin());
}

uint64_t GpuPlan::handed_bytes() const {
  uint64_t out = 0;
  for (const Activation& value : outputs)
    out += uint64_t{body.back().max_rows} * value.columns * sizeof(float);
  return out;
}

uint64_t GpuPlan::host_read_bytes() const {
  uint64_t out = 0;
  for (const auto* part : {&body, &head}) {
    for (const BatchClass& c : *part) {
      for (const HostCall& call : c.host_calls) out = std::max(out, call.x_bytes(c.max_rows));
    }
  }
  return out;
}

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
