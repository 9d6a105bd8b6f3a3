// The rules of device.h that every implementation checks with the same words. Internal to gpu/.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gpu/device.h"

namespace puna::gpu {

struct BufferFacts {
  std::string label;
  uint64_t bytes = 0;
  BufferUse use = BufferUse::kStorage;
  bool reading = false;  // a read_back of it has not called done yet
};

// Sizes are rounded up to whole words before a buffer is made.
inline uint64_t whole_words(uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; }

// What of a device's limits Puna uses: drivers report up to 2^63.
Limits usable(Limits reported);

base::Result<void> check_create_buffer(const Limits& limits, uint64_t bytes,
                                       std::string_view label);
// Also compares the bindings that the WGSL declares with those of the description.
base::Result<void> check_pipeline(const Limits& limits, const PipelineDesc& desc);
// One binding for each of the pipeline's.
base::Result<void> check_binding_count(const PipelineDesc& pipeline, size_t n);
base::Result<void> check_binding(const Limits& limits, const PipelineDesc& pipeline, size_t index,
                                 const Binding& binding, const BufferFacts& buffer);
// No two bindings of one buffer where one is written overlap, and none of them is read-only beside
// a written one.
base::Result<void> check_overlap(const PipelineDesc& pipeline, std::span<const Binding> bindings);
base::Result<void> check_write(const BufferFacts& buffer, uint64_t offset, uint64_t bytes);
base::Result<void> check_read(const BufferFacts& buffer, uint64_t offset, uint64_t bytes);
base::Result<void> check_copy(const Command& copy, const BufferFacts& source,
                              const BufferFacts& destination);
base::Result<void> check_dispatch(const Limits& limits, const PipelineDesc& pipeline,
                                  const Command& dispatch);

std::unexpected<base::Error> fail_unknown(std::string_view kind, uint32_t id);
std::unexpected<base::Error> fail_lost(std::string_view reason);

}  // namespace puna::gpu
