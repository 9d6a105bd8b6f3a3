#include "kernels/testing/gpu_harness.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "gpu/native/native.h"
#include "kernels/common/step.h"

namespace puna::kernels::test {
namespace {

constexpr uint32_t kPoison = 0x7fc0dead;  // a NaN
constexpr uint32_t kGuardWords = 64;

gpu::Device* shared_device(Features features) {
  static std::array<std::unique_ptr<gpu::Device>, 2> devices;
  std::unique_ptr<gpu::Device>& device = devices[static_cast<size_t>(features)];
  if (device) return device.get();
  const auto adapters = gpu::native::adapters();
  if (!adapters || adapters->empty()) return nullptr;
  auto opened = gpu::native::open(0, {.baseline = features == Features::kBaseline});
  REQUIRE_MESSAGE(opened, opened.error().text());
  device = std::move(*opened);
  return device.get();
}

std::vector<std::byte> poison(uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  for (uint64_t at = 0; at < bytes; at += 4) std::memcpy(&out[at], &kPoison, 4);
  return out;
}

}  // namespace

std::unique_ptr<GpuHarness> GpuHarness::open(Features features) {
  gpu::Device* device = shared_device(features);
  if (device == nullptr) {
    MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
    return nullptr;
  }
  return std::unique_ptr<GpuHarness>(new GpuHarness(*device));
}

GpuHarness::~GpuHarness() {
  for (const Buffer& buffer : buffers_) device_->destroy_buffer(buffer.id);
}

Slice GpuHarness::create(std::span<const std::byte> bytes, uint64_t slice_bytes, bool guarded) {
  const auto id = device_->create_buffer(bytes.size(), gpu::BufferUse::kStorage, "test");
  REQUIRE_MESSAGE(id, id.error().text());
  const auto written = device_->write_buffer(*id, 0, bytes);
  REQUIRE_MESSAGE(written, written.error().text());
  buffers_.push_back({*id, slice_bytes, guarded});
  return {static_cast<uint32_t>(buffers_.size() - 1), 0, slice_bytes};
}

Slice GpuHarness::upload_bytes(std::span<const std::byte> bytes) {
  std::vector<std::byte> padded(bytes.begin(), bytes.end());
  padded.resize(std::max<size_t>(4, (padded.size() + 3) / 4 * 4));
  return create(padded, padded.size(), false);
}

Slice GpuHarness::output(uint64_t bytes) {
  bytes = std::max<uint64_t>(4, (bytes + 3) / 4 * 4);
  return create(poison(bytes + 4 * kGuardWords), bytes, true);
}

Slice GpuHarness::step(uint32_t n_tokens, const std::vector<uint32_t>& tokens) {
  std::vector<uint32_t> words(kStepWords);
  words[kStepTokenCount] = words[kStepOutputCount] = n_tokens;
  words[kStepSplitCount] = 1;
  std::copy(tokens.begin(), tokens.end(), words.begin() + kStepTokens);
  for (uint32_t i = 0; i < n_tokens; ++i)
    words[kStepPositions + i] = words[kStepOutputRows + i] = i;
  return upload(words);
}

void GpuHarness::write(const Slice& slice, std::span<const std::byte> bytes) {
  const auto written = device_->write_buffer(buffers_[slice.buffer].id, slice.offset, bytes);
  REQUIRE_MESSAGE(written, written.error().text());
}

void GpuHarness::run(std::span<const KernelCall> calls, const StepShape& shape) {
  gpu::CommandList list;
  std::vector<gpu::BindGroupId> groups;
  for (const KernelCall& call : calls) {
    CAPTURE(call.label);
    auto text = expand(call, info());
    REQUIRE_MESSAGE(text, text.error().text());
    gpu::PipelineDesc desc{.label = call.label, .wgsl = *std::move(text), .bindings = {}};
    std::vector<gpu::Binding> bindings;
    for (const BoundSlice& bound : call.bindings) {
      desc.bindings.push_back(bound.access);
      bindings.push_back({buffers_[bound.slice.buffer].id, bound.slice.offset, bound.slice.bytes});
    }
    std::optional<base::Result<gpu::PipelineId>> pipeline;
    device_->create_pipeline(
        std::move(desc), [&](base::Result<gpu::PipelineId> made) { pipeline = std::move(made); });
    while (!pipeline) device_->poll();
    REQUIRE_MESSAGE(*pipeline, pipeline->error().text());
    const auto group = device_->create_bind_group(**pipeline, bindings);
    REQUIRE_MESSAGE(group, group.error().text());
    groups.push_back(*group);
    list.dispatch(**pipeline, *group, workgroups(call.x, shape), workgroups(call.y, shape),
                  workgroups(call.z, shape));
  }
  const auto submitted = device_->submit(list);
  REQUIRE_MESSAGE(submitted, submitted.error().text());
  const auto done = device_->wait(*submitted);
  REQUIRE_MESSAGE(done, done.error().text());
  for (gpu::BindGroupId group : groups) device_->destroy_bind_group(group);
  for (uint32_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].guarded) continue;
    std::array<uint32_t, kGuardWords> guards{};
    read_bytes(i, buffers_[i].bytes, std::as_writable_bytes(std::span(guards)));
    const bool intact =
        std::all_of(guards.begin(), guards.end(), [](uint32_t w) { return w == kPoison; });
    CHECK_MESSAGE(intact, "words after an output were written");
  }
}

void GpuHarness::read_bytes(uint32_t buffer, uint64_t offset, std::span<std::byte> out) {
  const auto staging = device_->create_buffer(out.size(), gpu::BufferUse::kReadback, "test read");
  REQUIRE_MESSAGE(staging, staging.error().text());
  gpu::CommandList list;
  list.copy(buffers_[buffer].id, offset, *staging, 0, out.size());
  REQUIRE(device_->submit(list));
  std::optional<base::Result<void>> done;
  device_->read_back(*staging, 0, out,
                     [&](base::Result<void> result) { done = std::move(result); });
  while (!done) device_->poll();
  REQUIRE_MESSAGE(*done, done->error().text());
  device_->destroy_buffer(*staging);
}

}  // namespace puna::kernels::test
