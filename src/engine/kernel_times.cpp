#include "engine/kernel_times.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "gpu/timing.h"

namespace puna::engine {
namespace {

using base::Result;
using plan::GpuProgram;
using Part = GpuProgram::Part;

constexpr double kEnoughMs = 20;  // of passes in one measurement
constexpr int kTries = 5;

// "blk.3.ffn_gate|blk.3.ffn_up" -> "ffn_gate|ffn_up".
std::string role_of(std::string_view label) {
  std::string role;
  while (!label.empty()) {
    if (label.starts_with("blk.")) {
      label.remove_prefix(std::min(label.find('.', 4), label.size() - 1) + 1);
    } else {
      role += label.front();
      label.remove_prefix(1);
    }
  }
  return role;
}

uint64_t number_of(const kernels::KernelCall& call, const char* name) {
  const auto found = call.defines.find(name);
  uint64_t value = 0;
  if (found != call.defines.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

// The entry of a role and kernel, made when it is new.
KernelTime& entry(std::vector<KernelTime>& times, const std::string& role,
                  std::string_view kernel) {
  const auto found = std::find_if(times.begin(), times.end(), [&](const KernelTime& t) {
    return t.role == role && t.kernel == kernel;
  });
  if (found != times.end()) return *found;
  return times.emplace_back(KernelTime{role, std::string(kernel), 0, 0, 0, 0});
}

void add(const plan::GpuPlan& plan, const kernels::KernelCall& call, uint32_t rows,
         KernelTime& time) {
  ++time.dispatches;
  if (!call.kernel.starts_with("matmul/")) return;
  for (const kernels::BoundSlice& bound : call.bindings) {
    if (plan.buffers[bound.slice.buffer].label.starts_with("weights"))
      time.bytes += bound.slice.bytes;
  }
  time.flops += 2.0 * static_cast<double>(number_of(call, "ROWS")) *
                static_cast<double>(number_of(call, "COLS")) * rows;
}

// What a submit of the list costs the host while the device is idle: the best of some.
Result<double> encode_us(gpu::Device& device, const gpu::CommandList& list) {
  double best = 1e30;
  for (int i = 0; i < kTries; ++i) {
    const base::Timer timer;
    PUNA_TRY(const gpu::SubmitId submit, device.submit(list));
    best = std::min(best, timer.ms() * 1000);
    PUNA_TRY(device.wait(submit));
  }
  return best;
}

}  // namespace

Result<StepTimes> time_kernels(gpu::Device& device, const GpuProgram& program,
                               const kernels::StepShape& shape) {
  StepTimes times;
  std::vector<gpu::CommandList> lists;  // by kernel
  gpu::CommandList whole;
  for (const Part part : {Part::kBody, Part::kHead, Part::kSample}) {
    const uint32_t rows = part == Part::kBody ? shape.n_tokens : shape.n_outputs;
    const size_t index = program.class_for(part, rows);
    const auto& parts = program.classes(part);
    gpu::CommandList list;
    program.record(part, index, shape, list);
    size_t command = 0;
    for (const kernels::KernelCall& call : parts[index].calls) {
      // Grids with a zero are left out of the list.
      if (workgroups(call.x, shape) == 0 || workgroups(call.y, shape) == 0 ||
          workgroups(call.z, shape) == 0) {
        continue;
      }
      const gpu::Command& c = list.commands()[command++];
      // A pass leaves the step as it was, for the next one to be the same.
      if (call.kernel == "sample/advance.wgsl") continue;
      KernelTime& time = entry(times.kernels, role_of(call.label), call.kernel);
      add(program.plan(), call, rows, time);
      lists.resize(times.kernels.size());
      lists[static_cast<size_t>(&time - times.kernels.data())].dispatch(c.pipeline, c.bind_group,
                                                                        c.x, c.y, c.z);
      whole.dispatch(c.pipeline, c.bind_group, c.x, c.y, c.z);
    }
  }
  for (size_t i = 0; i < lists.size(); ++i) {
    PUNA_TRY(times.kernels[i].us, gpu::pass_us(device, lists[i], kEnoughMs, kTries));
  }
  PUNA_TRY(times.step_us, gpu::pass_us(device, whole, kEnoughMs, kTries));
  PUNA_TRY(times.encode_us, encode_us(device, whole));
  return times;
}

StepTimes time_kernels(plan::CpuProgram& program, const plan::Step& step,
                       std::span<const uint32_t> pages, std::span<float> logits) {
  const plan::Graph& graph = program.graph();
  std::vector<double> best(graph.ops.size(), 1e30), op_us(graph.ops.size());
  StepTimes times;
  times.step_us = 1e30;
  for (int i = 0; i < kTries; ++i) {
    const base::Timer timer;
    program.run(step, pages, logits, op_us);
    times.step_us = std::min(times.step_us, timer.ms() * 1000);
    for (size_t op = 0; op < best.size(); ++op) best[op] = std::min(best[op], op_us[op]);
  }
  for (size_t op = 0; op < best.size(); ++op) {
    KernelTime& time = entry(times.kernels, role_of(plan::label(graph.ops[op])), "");
    ++time.dispatches;
    time.us += best[op];
    if (const auto* product = std::get_if<plan::MatmulOp>(&graph.ops[op])) {
      const plan::WeightSpec& weight = graph.weights[product->weight];
      const size_t rows = op < graph.head_begin ? step.tokens.size() : step.output_rows.size();
      time.bytes += quant::row_bytes(weight.type, weight.columns) * weight.rows;
      time.flops += 2.0 * weight.rows * weight.columns * static_cast<double>(rows);
    }
  }
  return times;
}

}  // namespace puna::engine
