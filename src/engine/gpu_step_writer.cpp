#include "engine/gpu_step_writer.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/sample/sample.h"

namespace puna::engine {

using base::Result;
using Part = plan::GpuProgram::Part;

kernels::AttentionSplits GpuStepWriter::splits_of(const plan::Step& step) const {
  const uint32_t n_kv =
      static_cast<uint32_t>(*std::max_element(step.positions.begin(), step.positions.end())) + 1;
  return kernels::attention_splits(limits_of(step).splits, n_kv);
}

plan::AttentionLimits GpuStepWriter::limits_of(const plan::Step& step) const {
  const kernels::StepShape shape{.n_tokens = step.n_tokens(),
                                 .n_outputs = static_cast<uint32_t>(step.output_rows.size())};
  return program_.plan().body[program_.class_for(Part::kBody, shape)].attention;
}

uint32_t GpuStepWriter::singles_of(const plan::Step& step) const {
  const uint32_t most = std::min(limits_of(step).singles, step.n_tokens());
  const auto is_single = [&](uint32_t row) {
    return row + 1 == step.n_tokens() || step.sequences[row + 1] != step.sequences[row];
  };
  uint32_t n = 0;
  while (n < most && is_single(n)) ++n;
  return n;
}

kernels::StepShape GpuStepWriter::shape_of(const plan::Step& step) const {
  return {step.n_tokens(), static_cast<uint32_t>(step.output_rows.size()), splits_of(step).n_splits,
          cuts_, singles_of(step)};
}

Result<void> GpuStepWriter::words(uint32_t first, std::span<const uint32_t> words) {
  return device_.write_buffer(program_.buffer(program_.plan().step), first * sizeof(uint32_t),
                              std::as_bytes(words));
}

Result<void> GpuStepWriter::header(const plan::Step& step, const kernels::StepShape& shape,
                                   uint32_t n_go_on) {
  const kernels::AttentionSplits splits = splits_of(step);
  std::array<uint32_t, kernels::kStepSingleCount + 1> header{};
  header[kernels::kStepTokenCount] = step.n_tokens();
  header[kernels::kStepOutputCount] = std::min(shape.n_outputs, program_.plan().head_rows());
  header[kernels::kStepSplitCount] = splits.n_splits;
  header[kernels::kStepSplitTokens] = splits.split_tokens;
  header[kernels::kStepGoOnCount] = n_go_on;
  header[kernels::kStepSingleCount] = shape.n_singles;
  const uint32_t next_rows = std::max(n_go_on, 1u);
  header[kernels::kStepSplitLimit] =
      program_.plan()
          .body[program_.class_for(Part::kBody, {.n_tokens = next_rows, .n_outputs = next_rows})]
          .attention.splits;
  return words(0, header);
}

Result<void> GpuStepWriter::step(const plan::Step& step, const kernels::StepShape& shape,
                                 uint32_t n_go_on) {
  PUNA_TRY(rows(step, shape, n_go_on));
  return inputs(step);
}

Result<void> GpuStepWriter::rows(const plan::Step& step, const kernels::StepShape& shape,
                                 uint32_t n_go_on) {
  PUNA_TRY(header(step, shape, n_go_on));
  const auto unsigned_words = [](const std::vector<int32_t>& v) {
    return std::span(reinterpret_cast<const uint32_t*>(v.data()), v.size());
  };
  PUNA_TRY(words(kernels::kStepTokens, unsigned_words(step.tokens)));
  PUNA_TRY(words(kernels::kStepPositions, unsigned_words(step.positions)));
  PUNA_TRY(words(kernels::kStepSequences, step.sequences));
  if (program_.plan().places) PUNA_TRY(places(step));
  // Layers behind the embedding, on a device of their own, have no place for it.
  if (const auto& media = program_.plan().media; media && !step.media.empty()) {
    PUNA_TRY(
        device_.write_buffer(program_.buffer(*media), 0, std::as_bytes(std::span(step.media))));
  }
  return {};
}

Result<void> GpuStepWriter::places(const plan::Step& step) {
  const std::vector<kernels::RowPlace> of_text(step.places.empty() ? step.n_tokens() : 0);
  const std::span<const kernels::RowPlace> rows = step.places.empty() ? of_text : step.places;
  return device_.write_buffer(program_.buffer(program_.plan().step),
                              kernels::kStepPlaces * sizeof(uint32_t), std::as_bytes(rows));
}

// What an earlier part of the model has made of the step's tokens.
Result<void> GpuStepWriter::inputs(const plan::Step& step) {
  std::span<const float> handed = step.handed;
  for (const plan::GpuPlan::Activation& input : program_.plan().inputs) {
    const size_t n = size_t{step.n_tokens()} * input.columns;
    PUNA_CHECK(n <= handed.size());
    PUNA_TRY(device_.write_buffer(program_.buffer(input.slice), input.slice.offset,
                                  std::as_bytes(handed.first(n))));
    handed = handed.subspan(n);
  }
  PUNA_CHECK(handed.empty());
  return {};
}

Result<void> GpuStepWriter::outputs(std::span<const uint32_t> rows) {
  const uint32_t n = static_cast<uint32_t>(rows.size());
  PUNA_TRY(words(kernels::kStepOutputCount, std::span(&n, 1)));
  return words(kernels::kStepOutputRows, rows);
}

Result<void> GpuStepWriter::sampling(const plan::Step& step,
                                     std::span<const OutputSampling> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].params.penalized()) continue;
    const uint32_t row = step.output_rows[i];
    const auto end = static_cast<size_t>(step.positions[row]) + 1;
    const size_t n = std::min({outputs[i].text.size(), size_t{outputs[i].params.repeat_last}, end});
    PUNA_TRY(device_.write_buffer(
        program_.buffer(program_.plan().history),
        (uint64_t{step.sequences[row]} * context_ + end - n) * sizeof(uint32_t),
        std::as_bytes(std::span(outputs[i].text).last(n))));
  }
  return choices(outputs);
}

Result<void> GpuStepWriter::choices(std::span<const OutputSampling> outputs) {
  std::vector<kernels::DeviceSampling> rows;
  for (const OutputSampling& output : outputs) rows.push_back({output.params, output.allowed});
  cuts_ = kernels::cuts(rows, n_out_);
  for (const kernels::SamplingPart& part : kernels::sampling_parts(rows, n_out_)) {
    PUNA_TRY(device_.write_buffer(program_.buffer(program_.plan().sampling), part.offset_bytes,
                                  std::as_bytes(std::span(part.words))));
  }
  return {};
}

}  // namespace puna::engine
