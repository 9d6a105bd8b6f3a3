#include "kernels/common/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace puna::kernels {

using base::Result;

Workbench::~Workbench() {
  for (gpu::BufferId id : buffers_) device_.destroy_buffer(id);
}

Result<Slice> Workbench::create(uint64_t bytes) {
  PUNA_TRY(const gpu::BufferId id,
           device_.create_buffer(bytes, gpu::BufferUse::kStorage, "workbench"));
  buffers_.push_back(id);
  return Slice{static_cast<uint32_t>(buffers_.size() - 1), 0, bytes};
}

Result<void> Workbench::write(const Slice& slice, std::span<const std::byte> bytes) {
  return device_.write_buffer(buffers_[slice.buffer], slice.offset, bytes);
}

Result<Slice> Workbench::upload_bytes(std::span<const std::byte> bytes) {
  std::vector<std::byte> padded(bytes.begin(), bytes.end());
  padded.resize(std::max<size_t>((padded.size() + 3) / 4 * 4, 4));
  PUNA_TRY(const Slice slice, create(padded.size()));
  PUNA_TRY(write(slice, padded));
  return slice;
}

Result<Slice> Workbench::output(uint64_t n_floats) {
  const std::vector<float> nan(static_cast<size_t>(n_floats),
                               std::numeric_limits<float>::quiet_NaN());
  return upload(std::span<const float>(nan));
}

Result<Slice> Workbench::pattern(uint64_t bytes, uint32_t mask) {
  constexpr uint64_t kPiece = 4u << 20;
  PUNA_TRY(const Slice slice, create(bytes));
  std::vector<uint32_t> words(static_cast<size_t>((std::min(bytes, kPiece) + 3) / 4));
  uint32_t seed = 1;
  for (uint32_t& word : words) word = (seed = seed * 1664525u + 1013904223u) & mask;
  const auto piece = std::as_bytes(std::span(words));
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    const uint64_t n = std::min<uint64_t>(piece.size(), (bytes - at + 3) / 4 * 4);
    PUNA_TRY(device_.write_buffer(buffers_[slice.buffer], at, piece.first(static_cast<size_t>(n))));
  }
  return slice;
}

Result<Slice> Workbench::step(uint32_t n_rows, const CpuStep* rows, AttentionSplits splits) {
  std::vector<uint32_t> words(kStepWords);
  words[kStepTokenCount] = words[kStepOutputCount] = n_rows;
  words[kStepSplitCount] = splits.n_splits;
  words[kStepSplitTokens] = splits.split_tokens;
  for (uint32_t t = 0; t < n_rows; ++t) {
    words[kStepOutputRows + t] = t;
    if (rows) words[kStepPositions + t] = static_cast<uint32_t>(rows->positions[t]);
    if (rows) words[kStepSequences + t] = rows->sequences[t];
  }
  return upload(std::span<const uint32_t>(words));
}

Result<void> Workbench::record(std::span<const KernelCall> calls, const StepShape& shape,
                               gpu::CommandList& list) {
  for (const KernelCall& call : calls) {
    PUNA_TRY(std::string text, expand(call, info()));
    gpu::PipelineDesc desc{fmt::format("{} ({})", call.kernel, call.label), std::move(text), {}};
    std::vector<gpu::Binding> bindings;
    for (const BoundSlice& b : call.bindings) {
      desc.bindings.push_back(b.access);
      bindings.push_back({buffers_[b.slice.buffer], b.slice.offset, b.slice.bytes});
    }
    std::optional<Result<gpu::PipelineId>> pipeline;
    device_.create_pipeline(std::move(desc),
                            [&](Result<gpu::PipelineId> id) { pipeline = std::move(id); });
    while (!pipeline) device_.poll();
    PUNA_TRY(const gpu::PipelineId id, *std::move(pipeline));
    PUNA_TRY(const gpu::BindGroupId group, device_.create_bind_group(id, bindings));
    groups_.push_back(group);
    list.dispatch(id, group, workgroups(call.x, shape), workgroups(call.y, shape),
                  workgroups(call.z, shape));
  }
  return {};
}

void Workbench::drop_groups() {
  for (gpu::BindGroupId group : groups_) device_.destroy_bind_group(group);
  groups_.clear();
}

Result<void> Workbench::run(std::span<const KernelCall> calls, const StepShape& shape) {
  gpu::CommandList list;
  PUNA_TRY(record(calls, shape, list));
  PUNA_TRY(const gpu::SubmitId submit, device_.submit(list));
  PUNA_TRY(device_.wait(submit));
  drop_groups();
  return {};
}

Result<void> Workbench::read_bytes(const Slice& slice, std::span<std::byte> out) {
  PUNA_TRY(const gpu::BufferId staging,
           device_.create_buffer(out.size(), gpu::BufferUse::kReadback, "workbench read-back"));
  gpu::CommandList list;
  list.copy(buffers_[slice.buffer], slice.offset, staging, 0, out.size());
  std::optional<Result<void>> done;
  auto submitted = device_.submit(list);
  if (submitted) {
    device_.read_back(staging, 0, out, [&](Result<void> result) { done = std::move(result); });
    while (!done) device_.poll();
  }
  device_.destroy_buffer(staging);
  if (!submitted) return std::unexpected(std::move(submitted.error()));
  return *std::move(done);
}

}  // namespace puna::kernels
