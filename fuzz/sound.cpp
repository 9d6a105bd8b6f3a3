// Sounds from hostile bytes: what is heard is no longer than the limit, and all of it numbers.
#include "media/sound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  media::SoundLimits limits;
  limits.max_seconds = 4;
  const auto sound = media::decode_sound(bytes, limits);
  if (!sound) {
    PUNA_CHECK(!sound.error().message.empty());
    return 0;
  }
  PUNA_CHECK(!sound->samples.empty() && sound->samples.size() <= size_t{4} * media::kSampleRate);
  PUNA_CHECK(std::ranges::all_of(sound->samples, [](float x) { return std::isfinite(x); }));
  return 0;
}
