#include "service/profiles.h"

#include <fmt/format.h>

#include <cctype>

#include "base/log.h"
#include "kernels/tune/tune.h"
#include "store/files.h"
#include "store/store.h"

namespace puna::service {
namespace {

using base::ErrorCode;
using base::Result;
using kernels::ParsedProfile;
using kernels::Profile;
using kernels::ProfileKey;

constexpr uint64_t kMaxProfileBytes = 1 << 20;

// "NVIDIA H200" -> "nvidia-h200".
std::string slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) {
      out += static_cast<char>(std::tolower(u));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.substr(0, 64);
}

// What differs between the key of a file and the device's; empty when nothing does.
std::string stale(const ProfileKey& file, const ProfileKey& device) {
  if (file.adapter != device.adapter || file.backend != device.backend ||
      file.features != device.features)
    return fmt::format("it is for {} ({})", file.adapter, file.backend);
  if (file.driver != device.driver)
    return fmt::format("it is for the driver \"{}\" and this one is \"{}\"", file.driver,
                       device.driver);
  if (file.kernels != device.kernels) return "it is for the kernels of another version";
  return {};
}

Result<Profile> read_profile(const std::string& path, const ProfileKey& key) {
  PUNA_TRY(const std::string text, store::read_text(path, kMaxProfileBytes));
  PUNA_TRY(ParsedProfile parsed, kernels::parse_profile(text));
  if (const std::string why = stale(parsed.key, key); !why.empty())
    return base::fail(ErrorCode::kInvalidArgument, fmt::format("It is out of date: {}.", why));
  return std::move(parsed.profile);
}

}  // namespace

Result<std::string> profile_path(const ProfileKey& key) {
  PUNA_TRY(const std::string root, store::default_root());
  return fmt::format("{}/profiles/{}-{}-{}.json", root, slug(key.adapter), slug(key.backend),
                     slug(key.features));
}

std::optional<Profile> stored_profile(const gpu::DeviceInfo& device) {
  const ProfileKey key = ProfileKey::of(device);
  const auto path = profile_path(key);
  if (!path) return std::nullopt;
  auto profile = read_profile(*path, key);
  if (profile) return *std::move(profile);
  if (profile.error().code != ErrorCode::kNotFound) {
    base::log_warning("The profile {} is not used: {} `puna tune` makes a new one.", *path,
                      profile.error().text());
  }
  return std::nullopt;
}

Result<void> store_profile(const gpu::DeviceInfo& device, const Profile& profile) {
  const ProfileKey key = ProfileKey::of(device);
  PUNA_TRY(const std::string path, profile_path(key));
  return store::write_text(path, kernels::profile_json(key, profile).dump(1) + "\n");
}

std::shared_ptr<const Profile> profile_for(gpu::Device& device, kernels::Numerics numerics) {
  const gpu::DeviceInfo& info = device.info();
  std::optional<Profile> profile = stored_profile(info);
  if (!profile) profile = kernels::shipped_profile(info);
  if (profile) return std::make_shared<const Profile>(*std::move(profile));
  // Speed on a software adapter is that of the CPU, and tests want the same kernels every time.
  if (info.type == gpu::AdapterType::kSoftware || numerics == kernels::Numerics::kExact)
    return nullptr;
  const auto times = kernels::measure_activations(device);
  if (!times) {
    base::log_warning("The kinds of activations cannot be compared: {}", times.error().text());
    return nullptr;
  }
  base::log_info("Activations: {} to decode, {} for prompts; measured in {:.0f} ms",
                 name(times->decode.choice), name(times->prefill.choice), times->took_ms);
  Profile measured;
  measured.decode = times->decode;
  measured.prefill = times->prefill;
  if (auto stored = store_profile(info, measured); !stored)
    base::log_info("The measurement is not kept: {}", stored.error().text());
  return std::make_shared<const Profile>(std::move(measured));
}

}  // namespace puna::service
