#include "gpu/probe.h"

#include <algorithm>
#include <array>

#include "base/log.h"

namespace puna::gpu {
namespace {

using base::Result;
using base::Task;

constexpr std::string_view kSubgroupProbe = R"(
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(128)
fn main(@builtin(subgroup_size) size: u32, @builtin(local_invocation_index) i: u32) {
  if (i == 0u) { words[0] = size; }
}
)";

// Words 8 to 15 and 16 to 23 hold pairs of packed bytes; their products go to 24 to 31.
constexpr std::string_view kDotProbe = R"(
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  words[24u + i] = bitcast<u32>(dot4I8Packed(words[8u + i], words[16u + i]));
}
)";

constexpr size_t kProbeWords = 32;
constexpr std::array<uint32_t, 8> kDotLeft = {0x01020304, 0x80808080, 0x7f7f7f7f, 0xff01ff01,
                                              0x80017fff, 0,          0xdeadbeef, 0x12345678};
constexpr std::array<uint32_t, 8> kDotRight = {0x05060708, 0x80808080, 0x80808080, 0x01ff01ff,
                                               0x7f80ff01, 9,          0x12345678, 0x87654321};

uint32_t dot4(uint32_t a, uint32_t b) {
  int32_t sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += static_cast<int8_t>(a >> (8 * i)) * static_cast<int8_t>(b >> (8 * i));
  return static_cast<uint32_t>(sum);
}

// Adds the dispatch of a probe that uses `buffer`; false when it does not compile.
Task<bool> add_probe(Device& device, std::string_view label, std::string_view wgsl, BufferId buffer,
                     CommandList& list) {
  PipelineDesc desc{
      std::string(label), wgsl_header(device.info()) + std::string(wgsl), {Access::kReadWrite}};
  const auto pipeline = co_await base::await_callback<Result<PipelineId>>(
      [&](PipelineDone done) { device.create_pipeline(std::move(desc), std::move(done)); });
  if (!pipeline) {
    base::log_warning("{}", pipeline.error().text());
    co_return false;
  }
  const Binding binding{buffer, 0, kProbeWords * 4};
  const auto group = device.create_bind_group(*pipeline, std::span(&binding, 1));
  if (group) list.dispatch(*pipeline, *group, 1);
  co_return group.has_value();
}

}  // namespace

Task<Result<DeviceInfo>> probe(Device& device) {
  DeviceInfo info = device.info();
  std::array<uint32_t, kProbeWords> words = {};
  std::copy(kDotLeft.begin(), kDotLeft.end(), words.begin() + 8);
  std::copy(kDotRight.begin(), kDotRight.end(), words.begin() + 16);
  PUNA_CO_TRY(const BufferId buffer,
              device.create_buffer(sizeof(words), BufferUse::kStorage, "probe"));
  PUNA_CO_TRY(const BufferId answer,
              device.create_buffer(sizeof(words), BufferUse::kReadback, "probe answer"));
  PUNA_CO_TRY(device.write_buffer(buffer, 0, std::as_bytes(std::span(words))));
  CommandList list;
  const bool subgroups =
      info.subgroups && co_await add_probe(device, "subgroup probe", kSubgroupProbe, buffer, list);
  const bool dot = co_await add_probe(device, "dot4 probe", kDotProbe, buffer, list);
  list.copy(buffer, 0, answer, 0, sizeof(words));
  PUNA_CO_TRY(device.submit(list));
  PUNA_CO_TRY(co_await base::await_callback<Result<void>>([&](ReadDone done) {
    device.read_back(answer, 0, std::as_writable_bytes(std::span(words)), std::move(done));
  }));

  info.subgroups = subgroups && words[0] != 0;
  if (info.subgroups && info.subgroup_min == 0) info.subgroup_min = words[0];
  if (info.subgroups && info.subgroup_max == 0) info.subgroup_max = words[0];
  if (!info.subgroups) info.subgroup_min = info.subgroup_max = 0;
  info.dot4 = dot;
  for (size_t i = 0; i < kDotLeft.size(); ++i)
    info.dot4 = info.dot4 && words[24 + i] == dot4(kDotLeft[i], kDotRight[i]);
  device.destroy_buffer(buffer);
  device.destroy_buffer(answer);
  co_return info;
}

}  // namespace puna::gpu
