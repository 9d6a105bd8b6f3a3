#include "media/sound_header.h"

#include <algorithm>

#include "media/byte_reader.h"

namespace puna::media {

std::optional<Mp3Note> mp3_note(std::span<const std::byte> file) {
  const ByteReader bytes{file, Endian::kBig};
  uint64_t at = 0;
  if (begins_with(file, "ID3")) {
    constexpr uint64_t kTagHeaderBytes = 10;
    uint64_t n_bytes = 0;  // in digits of seven bits
    for (uint64_t i = 6; i < kTagHeaderBytes; ++i)
      n_bytes = n_bytes << 7 | (bytes.u8(i).value_or(0) & 0x7f);
    constexpr uint32_t kFooter = 0x10;
    at = kTagHeaderBytes + n_bytes;
    if ((bytes.u8(5).value_or(0) & kFooter) != 0) at += kTagHeaderBytes;
  }
  const uint32_t header = bytes.u32(at).value_or(0);
  if (header >> 21 != 0x7ff) return std::nullopt;
  const bool version_1 = (header >> 19 & 3) == 3;
  const bool mono = (header >> 6 & 3) == 3;
  const uint64_t frame_samples = version_1 ? 1152 : 576;
  // Behind the frame's side information.
  at += 4U + (version_1 ? (mono ? 17 : 32) : (mono ? 9 : 17));
  if (at > file.size()) return std::nullopt;
  const auto note = file.subspan(static_cast<size_t>(at));
  if (!begins_with(note, "Xing") && !begins_with(note, "Info")) return std::nullopt;
  const uint32_t fields = bytes.u32(at + 4).value_or(0);
  if ((fields & 1) == 0) return std::nullopt;
  const uint64_t n_samples = bytes.u32(at + 8).value_or(0) * frame_samples;
  Mp3Note out{frame_samples, n_samples, 0};
  // After the number of frames, where they are: of bytes, a table of places, the quality; then
  // LAME's own part.
  constexpr uint64_t kFieldBytes[] = {4, 4, 100, 4};
  at += 8;
  for (uint32_t i = 0; i < 4; ++i) at += (fields >> i & 1) != 0 ? kFieldBytes[i] : 0;
  constexpr uint64_t kGapAt = 21;
  const uint32_t gap = bytes.u32(at + kGapAt - 1).value_or(0) & 0xffffff;
  const bool has_gap = at + kGapAt + 3 <= file.size() && bytes.u8(at).value_or(0) != 0;
  const uint64_t before = gap >> 12;
  const uint64_t after = gap & 0xfff;
  if (!has_gap || before + after >= n_samples) return out;
  // With what the decoder itself is late by; where little was padded it takes that from the end.
  constexpr uint64_t kDecoderDelay = 529;
  const uint64_t late = std::min(before + kDecoderDelay, n_samples);
  out.n_before += late;
  out.n_samples = std::min(n_samples - before - after, n_samples - late);
  out.n_after = n_samples - late - out.n_samples;
  return out;
}

bool wav_has_bytes(std::span<const std::byte> file) {
  const ByteReader bytes{file};
  uint64_t at = 12;
  while (const std::optional<uint32_t> n_bytes = bytes.u32(at + 4)) {
    constexpr uint32_t kPcm = 1;
    constexpr uint32_t kExtensible = 0xfffe;  // the format follows further down
    if (begins_with(file.subspan(static_cast<size_t>(at)), "fmt ")) {
      const uint32_t format = bytes.u16(at + 8).value_or(0);
      const uint32_t meant = format == kExtensible ? bytes.u16(at + 8 + 24).value_or(0) : format;
      return meant == kPcm && bytes.u16(at + 8 + 14) == 8U;
    }
    at += 8 + *n_bytes + *n_bytes % 2;
  }
  return false;
}

}  // namespace puna::media
