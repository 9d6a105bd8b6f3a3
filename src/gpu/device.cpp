// What all devices share: names, WGSL header lines, the recorded command list.
#include "gpu/device.h"

#include <fmt/format.h>

#include <utility>

namespace puna::gpu {

std::string_view name(AdapterType type) {
  switch (type) {
    case AdapterType::kDiscrete:
      return "discrete";
    case AdapterType::kIntegrated:
      return "integrated";
    case AdapterType::kSoftware:
      return "software";
    case AdapterType::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string wgsl_header(const DeviceInfo& info) {
  const bool tint = info.dialect == Dialect::kTint;
  std::string header;
  if (info.f16) header += "enable f16;\n";
  // naga refuses the enable although it knows the functions; Tint asks for it.
  if (info.subgroups && tint) header += "enable subgroups;\n";
  if (info.subgroup_matrix && tint) header += "enable chromium_experimental_subgroup_matrix;\n";
  // Tint cannot prove that a loop bound read from a buffer is uniform; kernels keep to that rule
  // themselves. naga does not know the rules and warns about their names.
  if (info.subgroups && tint) header += "diagnostic(off, subgroup_uniformity);\n";
  if (info.subgroup_matrix && tint) {
    header += "diagnostic(off, chromium.subgroup_matrix_uniformity);\n";
  }
  return header;
}

base::Result<BufferId> Device::share(const std::shared_ptr<HostMemory>&, std::string_view label) {
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("Buffer \"{}\" cannot lie in memory of the host: {} has no way to.",
                                label, info().name));
}

base::Result<SubmitId> Device::submit_early(const CommandList& list) { return submit(list); }

void Device::when_done(SubmitId submit, WaitDone done) {
  const WaitDone call = std::move(done);
  call(wait(submit));
}

void CommandList::dispatch(PipelineId pipeline, BindGroupId bind_group, uint32_t x, uint32_t y,
                           uint32_t z) {
  if (x == 0 || y == 0 || z == 0) return;
  Command& command = commands_.emplace_back();
  command.kind = Command::Kind::kDispatch;
  command.pipeline = pipeline;
  command.bind_group = bind_group;
  command.x = x;
  command.y = y;
  command.z = z;
}

void CommandList::copy(BufferId source, uint64_t source_offset, BufferId destination,
                       uint64_t destination_offset, uint64_t bytes) {
  if (bytes == 0) return;
  Command& command = commands_.emplace_back();
  command.kind = Command::Kind::kCopy;
  command.source = source;
  command.source_offset = source_offset;
  command.destination = destination;
  command.destination_offset = destination_offset;
  command.bytes = bytes;
}

}  // namespace puna::gpu
