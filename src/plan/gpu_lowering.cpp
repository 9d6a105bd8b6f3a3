#include "plan/gpu_lowering.h"

#include <algorithm>

namespace puna::plan {

using kernels::Slice;

Slice GpuLowering::value(ValueId id) const {
  Slice slice = whole(id);
  slice.bytes = std::min(slice.bytes, aligned(uint64_t{max_rows} * columns(id) * sizeof(float)));
  return slice;
}

std::optional<Slice> GpuLowering::value(const std::optional<ValueId>& id) const {
  return id ? std::optional(value(*id)) : std::nullopt;
}

std::optional<Slice> GpuLowering::vector(const std::optional<VectorId>& id) const {
  return id ? std::optional(vector(*id)) : std::nullopt;
}

}  // namespace puna::plan
