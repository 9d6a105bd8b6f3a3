#include "engine/kernel_times.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/clock.h"
#include "gpu/timing.h"
#include "kernels/common/weight_defines.h"

namespace puna::engine {
namespace {

using base::Result;
using plan::GpuProgram;
using Part = GpuProgram::Part;

constexpr double kEnoughMs = 20;  // of passes in one measurement
constexpr int kTries = 5;
// A step is run without each role up to so many milliseconds: on software adapters, and for long
// prompts on slow GPUs, that would take minutes.
constexpr double kLongStepMs = 100;

// "blk.3.ffn_gate.weight|blk.3.ffn_up.weight" -> "ffn_gate|ffn_up".
std::string role_of(std::string_view label) {
  constexpr std::string_view kBlock = "blk.", kWeight = ".weight";
  std::string role;
  while (!label.empty()) {
    if (label.starts_with(kBlock)) {
      label.remove_prefix(std::min(label.find('.', kBlock.size()), label.size() - 1) + 1);
    } else if (label.starts_with(kWeight)) {
      label.remove_prefix(kWeight.size());
    } else {
      role += label.front();
      label.remove_prefix(1);
    }
  }
  return role;
}

using Defines = std::map<std::string, std::string>;

uint64_t number_of(const Defines& defines, const char* name) {
  const auto found = defines.find(name);
  uint64_t value = 0;
  if (found != defines.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

// "q4_k" of a dispatch whose template reads weights of that type; else empty.
std::string type_of(const Defines& defines) {
  for (const quant::TypeInfo& type : quant::types()) {
    if (defines.contains(kernels::weight_define(type.type))) return std::string(type.name);
  }
  return {};
}

KernelTime::Unit unit_of(const kernels::KernelCall& call) {
  if (call.kernel == "matmul/gemm_matrix.wgsl") return KernelTime::Unit::kMatrix;
  const bool int8 = call.defines.contains("B_X8") || call.defines.contains("X_PROLOGUE");
  return int8 ? KernelTime::Unit::kInt8 : KernelTime::Unit::kF32;
}

KernelTime describe(const kernels::KernelCall& call) {
  KernelTime time;
  time.role = role_of(call.label);
  time.kernel = call.kernel;
  time.type = type_of(call.defines);
  if (time.type.empty()) return time;
  time.weight_rows = static_cast<uint32_t>(number_of(call.defines, "ROWS"));
  time.weight_cols = static_cast<uint32_t>(number_of(call.defines, "COLS"));
  time.unit = unit_of(call);
  // Products of one x, with as many columns.
  for (const kernels::Beside& part : call.beside) {
    time.type += "+" + type_of(part.defines);
    time.weight_rows += static_cast<uint32_t>(number_of(part.defines, "ROWS"));
  }
  return time;
}

// The entry of what is described, made when it is new.
KernelTime& entry(std::vector<KernelTime>& times, const KernelTime& described) {
  const auto found = std::find_if(times.begin(), times.end(), [&](const KernelTime& t) {
    return t.role == described.role && t.kernel == described.kernel && t.type == described.type &&
           t.weight_rows == described.weight_rows && t.weight_cols == described.weight_cols;
  });
  return found != times.end() ? *found : times.emplace_back(described);
}

void add(const plan::GpuPlan& plan, const kernels::KernelCall& call, uint32_t rows,
         KernelTime& time) {
  ++time.dispatches;
  if (!call.kernel.starts_with("matmul/") || time.type.empty()) return;
  for (const kernels::BoundSlice& bound : call.bindings) {
    if (plan.buffers[bound.slice.buffer].label.starts_with("weights"))
      time.bytes += bound.slice.bytes;
  }
  time.flops += 2.0 * time.weight_rows * time.weight_cols * rows;
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
  gpu::CommandList whole;
  std::vector<size_t> kernel_of;  // of the commands of `whole`
  for (const Part part : {Part::kBody, Part::kHead, Part::kSample}) {
    const uint32_t rows = part == Part::kBody ? shape.n_tokens : shape.n_outputs;
    const auto& parts = program.classes(part);
    if (parts.empty()) continue;  // of a part of a model that hands over
    gpu::CommandList list;
    program.record(part, shape, list);
    size_t command = 0;
    for (const kernels::KernelCall& call : parts[program.class_for(part, shape)].calls) {
      // Grids with a zero are left out of the list.
      if (workgroups(call.x, shape) == 0 || workgroups(call.y, shape) == 0 ||
          workgroups(call.z, shape) == 0) {
        continue;
      }
      const gpu::Command& c = list.commands()[command++];
      // A pass leaves the step as it was, for the next one to be the same.
      if (call.kernel == "sample/advance.wgsl") continue;
      KernelTime& time = entry(times.kernels, describe(call));
      add(program.plan(), call, rows, time);
      whole.dispatch(c.pipeline, c.bind_group, c.x, c.y, c.z);
      kernel_of.push_back(static_cast<size_t>(&time - times.kernels.data()));
    }
  }
  PUNA_TRY(times.step_us, gpu::pass_us(device, whole, kEnoughMs, kTries));
  const double step_ms = times.step_us / 1000;
  const int tries_without = step_ms < kEnoughMs ? kTries : 1;
  for (size_t i = 0; i < times.kernels.size(); ++i) {
    gpu::CommandList alone, others;
    for (size_t at = 0; at < kernel_of.size(); ++at) {
      const gpu::Command& c = whole.commands()[at];
      (kernel_of[at] == i ? alone : others).dispatch(c.pipeline, c.bind_group, c.x, c.y, c.z);
    }
    KernelTime& time = times.kernels[i];
    PUNA_TRY(time.us, gpu::pass_us(device, alone, kEnoughMs, kTries));
    if (step_ms > kLongStepMs) continue;
    PUNA_TRY(const double without, gpu::pass_us(device, others, kEnoughMs, tries_without));
    time.in_step_us = times.step_us - without;
  }
  PUNA_TRY(times.encode_us, encode_us(device, whole));
  return times;
}

double fraction_of_ceiling(const KernelTime& time, const kernels::Ceilings& ceilings) {
  if (time.bytes == 0 || time.us <= 0) return 0;
  const double read_us = static_cast<double>(time.bytes) / ceilings.read_gb_per_s / 1e3;
  double work_us = 0;
  if (time.unit == KernelTime::Unit::kF32) work_us = time.flops / ceilings.f32_tflops / 1e6;
  if (time.unit == KernelTime::Unit::kInt8) work_us = time.flops / ceilings.int8_tops / 1e6;
  return std::max(read_us, work_us) / time.us;
}

double fraction_of_read(const StepTimes& times, const kernels::Ceilings& ceilings) {
  double bytes = 0;
  for (const KernelTime& time : times.kernels) bytes += static_cast<double>(time.bytes);
  return bytes / ceilings.read_gb_per_s / 1e3 / times.step_us;
}

StepTimes time_kernels(plan::CpuProgram& program, const plan::Step& step,
                       const plan::CpuProgram::Pages& pages, std::span<float> logits) {
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
    KernelTime described;
    described.role = role_of(plan::label(graph.ops[op]));
    const auto* product = std::get_if<plan::MatmulOp>(&graph.ops[op]);
    if (product) {
      const plan::WeightSpec& weight = graph.weights[product->weight];
      described.type = quant::info(weight.type).name;
      described.weight_rows = weight.rows;
      described.weight_cols = weight.columns;
      const bool fast =
          program.weights().matrices[product->weight].numerics() == kernels::Numerics::kFast;
      const bool blocks = quant::info(weight.type).block_elements > 1;
      if (fast && blocks) described.unit = KernelTime::Unit::kInt8;
    }
    KernelTime& time = entry(times.kernels, described);
    ++time.dispatches;
    time.us += best[op];
    if (product) {
      const plan::WeightSpec& weight = graph.weights[product->weight];
      const size_t rows = op < graph.head_begin ? step.tokens.size() : step.output_rows.size();
      time.bytes += quant::row_bytes(weight.type, weight.columns) * weight.rows;
      time.flops += 2.0 * weight.rows * weight.columns * static_cast<double>(rows);
    }
  }
  return times;
}

}  // namespace puna::engine
