// What was measured of a device, as commands show it.
#pragma once

#include <string>

#include "base/json.h"
#include "kernels/ceiling/ceiling.h"
#include "kernels/profile/profile.h"

namespace puna::cli {

base::Json ceilings_json(const kernels::Ceilings& ceilings);

// {decode: {choice, int8_us, float_us}, prefill: ..., tuned_kernels}; null without a profile.
base::Json activations_json(const kernels::Profile* profile);
// "int8 activations to decode, int8 for prompts; 3 tuned kernels"
std::string profile_text(const kernels::Profile& profile);

}  // namespace puna::cli
