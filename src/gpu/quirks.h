// What is known to be wrong or slow on some devices and is corrected in DeviceInfo when one is
// opened. One row each in quirks.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gpu/device.h"

namespace puna::gpu {

struct Quirk {
  std::string_view name;
  std::string_view when;  // in words
  std::string_view why;
  std::string_view link;
  bool (*applies)(const DeviceInfo& info);
  void (*apply)(DeviceInfo& info);
};

std::span<const Quirk> quirks();
// Changes `info` by every quirk that applies and returns their names.
std::vector<std::string_view> apply_quirks(DeviceInfo& info);

// --gpu-features baseline: no optional feature, no limit above WebGPU's defaults.
void hide_features(DeviceInfo& info);

}  // namespace puna::gpu
