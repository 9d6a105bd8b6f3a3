// Profile: what was measured to be best on one adapter: the numbers of its kernels where others
// than the portable defaults are faster, and the kind of activations. Plain data and its JSON; who
// keeps the files: service/profiles.h; who makes them: tune/tune.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gpu/device.h"
#include "kernels/common/knob.h"

namespace puna::kernels {

// What a product of fast numerics computes with; both kinds are of that class.
enum class Activations : uint8_t { kInt8, kFloat };
std::string_view name(Activations activations);  // "int8", "float"

// The quicker kind, and the microseconds of both in the measurement that says so (0: not measured
// here, but known).
struct ActivationChoice {
  Activations choice = Activations::kInt8;
  double int8_us = 0;
  double float_us = 0;
};

struct TunedKernel {
  KnobValues knobs;
  double default_us = 0;  // as it was measured then
  double tuned_us = 0;
};

// Whom a profile is for. A profile of another driver or of other kernels says nothing reliable.
struct ProfileKey {
  std::string adapter;  // "NVIDIA H200"
  std::string backend;  // "vulkan"
  std::string driver;
  std::string features;  // "f16 subgroups-32-32 ..."
  std::string kernels;   // hash of all templates

  bool operator==(const ProfileKey&) const = default;
  static ProfileKey of(const gpu::DeviceInfo& device);
};

struct Profile {
  std::optional<ActivationChoice> decode, prefill;  // of products with one row, with many
  std::map<std::string, TunedKernel, std::less<>>
      kernels;  // by role and shape, as matmul_key() and attention_key() have it

  Activations activations(uint32_t max_rows) const;
  const KnobValues* find(std::string_view key) const;
};

// One JSON document. Errors of parsing: kCorrupt or kInvalidArgument saying what is wrong where; a
// knob that does not exist, or not with that value, is refused.
base::Json profile_json(const ProfileKey& key, const Profile& profile);
struct ParsedProfile {
  ProfileKey key;
  Profile profile;
};
base::Result<ParsedProfile> parse_profile(std::string_view text);

// The profile that comes with Puna for this adapter, whatever its driver; nothing when there is
// none.
std::optional<Profile> shipped_profile(const gpu::DeviceInfo& device);

}  // namespace puna::kernels
