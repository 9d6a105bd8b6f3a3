// Device on the page's WebGPU. The JavaScript half, web_device.js, holds the GPU objects under the
// handles that are given out here; a command list crosses over in one call. What a page answers
// later (pipelines, read-backs, finished work, errors) comes back through the functions that
// web_device.cpp exports to it.
//
// Memory that runs out is told late: the next call after the page has noticed fails with
// kOutOfMemory.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/task.h"
#include "gpu/device.h"

namespace puna::gpu::web {

// What bindings/js/src/engine/gpu.ts found out about the adapter. Errors: kInvalidArgument.
base::Result<DeviceInfo> parse_info(const base::Json& facts);

// Takes over device `handle` of web_device.js, which is released with the Device. `info` is
// completed by probes and quirks; `baseline` hides its features. Errors: kDevice, kDeviceLost.
base::Task<base::Result<std::unique_ptr<Device>>> open(uint32_t handle, DeviceInfo info,
                                                       bool baseline);

}  // namespace puna::gpu::web
