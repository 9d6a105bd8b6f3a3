// What was measured of a device, as commands show it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "kernels/ceiling/ceiling.h"
#include "kernels/profile/profile.h"
#include "service/open.h"

namespace puna::cli {

// The GPU that `flag` measures. Errors: those of service::open_device(); kUnsupported where it is
// the CPU.
base::Result<service::DeviceUse> open_gpu(const service::OpenOptions& options,
                                          std::string_view flag);

base::Json ceilings_json(const kernels::Ceilings& ceilings);

// {decode: {choice, int8_us, float_us}, prefill: ..., tuned_kernels}; null without a profile.
base::Json activations_json(const kernels::Profile* profile);
// "int8 activations to decode, int8 for prompts; 3 tuned kernels"
std::string profile_text(const kernels::Profile& profile);

}  // namespace puna::cli
