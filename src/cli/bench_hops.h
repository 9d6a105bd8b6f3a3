// puna bench --hops: what it costs to go from one GPU to another by way of the host.
#pragma once

#include "base/result.h"
#include "cli/model_flags.h"

namespace puna::cli {

// Of the first two GPUs of --device; with one, from that to itself. Errors: kUnsupported on the CPU
// device.
base::Result<int> bench_hops(const ModelFlags& flags, bool json);

}  // namespace puna::cli
