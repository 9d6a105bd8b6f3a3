#include "media/wav.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "media/sound.h"

namespace puna::media {

namespace {

constexpr size_t kHeaderBytes = 44;

class Bytes {
 public:
  explicit Bytes(size_t n) { bytes_.reserve(n); }
  void text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    std::ranges::copy(bytes, std::back_inserter(bytes_));
  }
  void number(uint32_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

// Source: Microsoft, Multimedia Programming Interface and Data Specifications 1.0.
std::vector<std::byte> wav_file(std::span<const float> samples) {
  PUNA_CHECK(samples.size() <= size_t{1} << 29);
  const auto n_bytes = static_cast<uint32_t>(samples.size_bytes());
  Bytes out(kHeaderBytes + n_bytes);
  out.text("RIFF");
  out.number(static_cast<uint32_t>(kHeaderBytes - 8) + n_bytes, 4);
  out.text("WAVEfmt ");
  out.number(16, 4);  // bytes of what follows
  out.number(3, 2);   // numbers of IEEE 754
  out.number(1, 2);   // channels
  out.number(kSampleRate, 4);
  out.number(kSampleRate * sizeof(float), 4);  // bytes a second
  out.number(sizeof(float), 2);                // bytes of a sample of all channels
  out.number(32, 2);                           // bits of a sample
  out.text("data");
  out.number(n_bytes, 4);
  for (const float sample : samples) out.number(std::bit_cast<uint32_t>(sample), 4);
  return out.take();
}

}  // namespace puna::media
