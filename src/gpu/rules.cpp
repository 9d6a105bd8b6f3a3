#include "gpu/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace puna::gpu {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr uint64_t kOffsetAlignment = 256;
// Above this a limit tells nothing that Puna uses.
constexpr uint64_t kMostBufferBytes = uint64_t{1} << 40;
// Kernels index a binding by 32-bit words and bytes.
constexpr uint64_t kMostBindingBytes = (uint64_t{1} << 32) - 256;
constexpr uint32_t kMostWorkgroupBytes = 65536;
constexpr uint32_t kMostWorkgroupInvocations = 1024;
// Every kernel has a form that binds eight; a few do more at once where there is room.
constexpr uint32_t kMostStorageBuffers = 16;

bool in_range(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

Result<void> check_words(std::string_view what, const BufferFacts& buffer, uint64_t offset,
                         uint64_t bytes) {
  if (offset % 4 != 0 || bytes % 4 != 0) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "A {} of buffer \"{}\" has offset {} and size {}, which are not both multiples of 4.",
            what, buffer.label, offset, bytes));
  }
  if (!in_range(offset, bytes, buffer.bytes)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("A {} of buffer \"{}\" covers bytes {} to {}, but the buffer has {}.",
                            what, buffer.label, offset, offset + bytes, buffer.bytes));
  }
  return {};
}

std::string_view word(Access access) { return access == Access::kRead ? "read" : "read_write"; }

// How the WGSL declares the next storage binding; moves `text` past it.
struct Declared {
  size_t binding;
  std::optional<Access> access;  // none when it is not a storage buffer
};
std::optional<Declared> next_declared(std::string_view& text) {
  constexpr std::string_view kAttribute = "@binding(";
  for (;;) {
    const size_t at = text.find(kAttribute);
    if (at == text.npos) return std::nullopt;
    const size_t line = text.rfind('\n', at);
    const std::string_view before =
        text.substr(line == text.npos ? 0 : line, at - (line == text.npos ? 0 : line));
    text.remove_prefix(at + kAttribute.size());
    if (before.find("//") != before.npos) continue;
    Declared declared{0, std::nullopt};
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && declared.binding < 1000) {
      declared.binding = declared.binding * 10 + static_cast<size_t>(text.front() - '0');
      text.remove_prefix(1);
    }
    const size_t end = text.find(';');
    std::string compact;  // the declaration without spaces
    for (char c : text.substr(0, end)) {
      if (c != ' ' && c != '\n' && c != '\t') compact += c;
    }
    if (compact.find("var<storage,read_write>") != compact.npos) {
      declared.access = Access::kReadWrite;
    } else if (compact.find("var<storage,read>") != compact.npos ||
               compact.find("var<storage>") != compact.npos) {
      declared.access = Access::kRead;
    }
    return declared;
  }
}

}  // namespace

Limits usable(Limits reported) {
  Limits out = reported;
  out.max_buffer_bytes =
      std::min(reported.max_buffer_bytes, kMostBufferBytes) & ~(kOffsetAlignment - 1);
  out.max_binding_bytes =
      std::min({reported.max_binding_bytes, out.max_buffer_bytes, kMostBindingBytes}) &
      ~(kOffsetAlignment - 1);
  out.max_storage_buffers = std::min(reported.max_storage_buffers, kMostStorageBuffers);
  out.max_workgroup_bytes = std::min(reported.max_workgroup_bytes, kMostWorkgroupBytes);
  out.max_workgroup_invocations =
      std::min(reported.max_workgroup_invocations, kMostWorkgroupInvocations);
  return out;
}

Result<void> check_create_buffer(const Limits& limits, uint64_t bytes, std::string_view label) {
  if (bytes == 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("Buffer \"{}\" has no bytes.", label));
  if (bytes > limits.max_buffer_bytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Buffer \"{}\" of {} bytes is above the device's limit ({} bytes).",
                            label, bytes, limits.max_buffer_bytes));
  }
  return {};
}

Result<void> check_pipeline(const Limits& limits, const PipelineDesc& desc) {
  if (desc.bindings.size() > limits.max_storage_buffers) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Kernel \"{}\" binds {} buffers; the device allows {}.", desc.label,
                            desc.bindings.size(), limits.max_storage_buffers));
  }
  if (desc.wgsl.find("fn main") == desc.wgsl.npos) {
    return fail(ErrorCode::kDevice,
                fmt::format("Kernel \"{}\" has no function `main`.", desc.label));
  }
  size_t n_declared = 0;
  std::string_view text = desc.wgsl;
  while (const auto declared = next_declared(text)) {
    ++n_declared;
    if (!declared->access) {
      return fail(ErrorCode::kDevice,
                  fmt::format("Binding {} of kernel \"{}\" is not a storage buffer.",
                              declared->binding, desc.label));
    }
    if (declared->binding >= desc.bindings.size()) {
      return fail(
          ErrorCode::kDevice,
          fmt::format("Kernel \"{}\" declares binding {}, but its description has {} bindings.",
                      desc.label, declared->binding, desc.bindings.size()));
    }
    if (desc.bindings[declared->binding] != *declared->access) {
      return fail(
          ErrorCode::kDevice,
          fmt::format(
              "Binding {} of kernel \"{}\" is declared `{}` in WGSL and `{}` in its description.",
              declared->binding, desc.label, word(*declared->access),
              word(desc.bindings[declared->binding])));
    }
  }
  if (n_declared != desc.bindings.size()) {
    return fail(ErrorCode::kDevice,
                fmt::format("Kernel \"{}\" declares {} bindings, but its description has {}.",
                            desc.label, n_declared, desc.bindings.size()));
  }
  return {};
}

Result<void> check_binding_count(const PipelineDesc& pipeline, size_t n) {
  if (n == pipeline.bindings.size()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("Kernel \"{}\" has {} bindings and is given {}.", pipeline.label,
                          pipeline.bindings.size(), n));
}

Result<void> check_binding(const Limits& limits, const PipelineDesc& pipeline, size_t index,
                           const Binding& binding, const BufferFacts& buffer) {
  const auto refuse = [&](std::string text) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Binding {} of kernel \"{}\" to buffer \"{}\" {}.", index,
                            pipeline.label, buffer.label, text));
  };
  if (buffer.use != BufferUse::kStorage) return refuse("is refused: the buffer is for read-back");
  if (binding.offset % kOffsetAlignment != 0) {
    return refuse(fmt::format("starts at byte {}, which is not a multiple of {}", binding.offset,
                              kOffsetAlignment));
  }
  if (binding.bytes == 0 || binding.bytes % 4 != 0) {
    return refuse(
        fmt::format("has {} bytes, which is not a positive multiple of 4", binding.bytes));
  }
  if (binding.bytes > limits.max_binding_bytes) {
    return refuse(fmt::format("has {} bytes, above the device's limit for one binding ({})",
                              binding.bytes, limits.max_binding_bytes));
  }
  if (!in_range(binding.offset, binding.bytes, buffer.bytes)) {
    return refuse(fmt::format("covers bytes {} to {}, but the buffer has {}", binding.offset,
                              binding.offset + binding.bytes, buffer.bytes));
  }
  return {};
}

Result<void> check_overlap(const PipelineDesc& pipeline, std::span<const Binding> bindings) {
  for (size_t i = 0; i < bindings.size(); ++i) {
    for (size_t j = i + 1; j < bindings.size(); ++j) {
      const Binding &a = bindings[i], &b = bindings[j];
      const Access x = pipeline.bindings[i], y = pipeline.bindings[j];
      if (a.buffer != b.buffer || (x == Access::kRead && y == Access::kRead)) continue;
      if (x != y) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("Bindings {} ({}) and {} ({}) of kernel \"{}\" use one buffer; "
                                "WebGPU refuses that even on disjoint "
                                "ranges: declare both read_write or use two buffers.",
                                i, word(x), j, word(y), pipeline.label));
      }
      if (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("Bindings {} and {} of kernel \"{}\" overlap and are written: "
                                "bytes {} to {} and {} to {}.",
                                i, j, pipeline.label, a.offset, a.offset + a.bytes, b.offset,
                                b.offset + b.bytes));
      }
    }
  }
  return {};
}

Result<void> check_write(const BufferFacts& buffer, uint64_t offset, uint64_t bytes) {
  if (buffer.use != BufferUse::kStorage) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Buffer \"{}\" is for read-back and cannot be written.", buffer.label));
  }
  return check_words("write", buffer, offset, bytes);
}

Result<void> check_read(const BufferFacts& buffer, uint64_t offset, uint64_t bytes) {
  if (buffer.use != BufferUse::kReadback) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("Buffer \"{}\" is not for read-back; copy it to one that is.", buffer.label));
  }
  if (buffer.reading) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Buffer \"{}\" is already being read.", buffer.label));
  }
  if (offset % 8 != 0) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("A read of buffer \"{}\" starts at byte {}, which is not a multiple of 8.",
                    buffer.label, offset));
  }
  return check_words("read", buffer, offset, bytes);
}

Result<void> check_copy(const Command& copy, const BufferFacts& source,
                        const BufferFacts& destination) {
  if (source.use != BufferUse::kStorage || copy.source == copy.destination || destination.reading) {
    const std::string_view why = source.use != BufferUse::kStorage ? "the source is for read-back"
                                 : copy.source == copy.destination
                                     ? "they are one buffer"
                                     : "the destination is being read";
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("A copy from buffer \"{}\" to \"{}\" is refused: {}.", source.label,
                            destination.label, why));
  }
  PUNA_TRY(check_words("copy out", source, copy.source_offset, copy.bytes));
  return check_words("copy into", destination, copy.destination_offset, copy.bytes);
}

Result<void> check_dispatch(const Limits& limits, const PipelineDesc& pipeline,
                            const Command& dispatch) {
  const uint32_t most = limits.max_workgroups_per_dimension;
  if (dispatch.x <= most && dispatch.y <= most && dispatch.z <= most) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("Kernel \"{}\" is dispatched over {} x {} x {} workgroups; the device allows "
                  "{} in each direction.",
                  pipeline.label, dispatch.x, dispatch.y, dispatch.z, most));
}

std::unexpected<base::Error> fail_unknown(std::string_view kind, uint32_t id) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("There is no {} {}; it was never made, or is destroyed.", kind, id));
}

std::unexpected<base::Error> fail_lost(std::string_view reason) {
  return fail(ErrorCode::kDeviceLost, fmt::format("The GPU is lost: {}", reason));
}

}  // namespace puna::gpu
