// What the device takes for a list of work, without the host's part in it.
#pragma once

#include "base/result.h"
#include "gpu/device.h"

namespace puna::gpu {

// Microseconds of one pass over the dispatches of `list`: the best of `tries` measurements, each of
// as many passes as take about enough_ms. A measurement is the second of two submits, recorded
// while the first runs, so that the time between their ends is the device's alone. Blocks; native
// devices only (kUnsupported in a page).
base::Result<double> pass_us(Device& device, const CommandList& list, double enough_ms, int tries);

}  // namespace puna::gpu
