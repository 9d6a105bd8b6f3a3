// Profiles of adapters, kept as files under $PUNA_HOME/profiles: one for each adapter, backend and
// set of features. A file for another driver or other kernels is passed over, not deleted.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "gpu/device.h"
#include "kernels/common/call.h"
#include "kernels/profile/profile.h"

namespace puna::service {

// Where the profile of a device lies. Errors: no home folder.
base::Result<std::string> profile_path(const kernels::ProfileKey& key);

// What is stored for the device. Nothing when there is no file; when the file cannot be read or is
// for something else too, with one line in the log that says so.
std::optional<kernels::Profile> stored_profile(const gpu::DeviceInfo& device);
// The old file, if any, stays whole until the new one is. Errors: kIo.
base::Result<void> store_profile(const gpu::DeviceInfo& device, const kernels::Profile& profile);

// The profile to run a model with: stored, else what ships with Puna, else (real GPUs only) the
// kinds of activations measured now and stored; numerics exact need no such measurement.
std::shared_ptr<const kernels::Profile> profile_for(gpu::Device& device,
                                                    kernels::Numerics numerics);

}  // namespace puna::service
