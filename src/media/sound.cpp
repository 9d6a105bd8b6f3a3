#include "media/sound.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/byte_reader.h"
#include "media/sound_file.h"

namespace puna::media {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

bool is_wav(std::span<const std::byte> file) {
  return (begins_with(file, "RIFF") || begins_with(file, "RF64")) && file.size() >= 12 &&
         begins_with(file.subspan(8), "WAVE");
}

bool is_flac(std::span<const std::byte> file) { return begins_with(file, "fLaC"); }

// The first page of an Ogg stream holds the first packet, which says what it is a stream of.
bool is_vorbis(std::span<const std::byte> file) {
  constexpr size_t kPageHeaderBytes = 28;
  return begins_with(file, "OggS") && file.size() >= kPageHeaderBytes &&
         begins_with(file.subspan(kPageHeaderBytes), "\x01vorbis");
}

// A tag, or the header of a frame: eleven bits that are set, then version, layer, rate of bits and
// of samples, each without the values that are reserved.
bool is_mp3(std::span<const std::byte> file) {
  if (begins_with(file, "ID3")) return true;
  const uint32_t header = ByteReader{file, Endian::kBig}.u32(0).value_or(0);
  constexpr uint32_t kLayer3 = 1;
  return header >> 21 == 0x7ff && (header >> 19 & 3) != 1 && (header >> 17 & 3) == kLayer3 &&
         (header >> 12 & 15) != 15 && (header >> 10 & 3) != 3;
}

struct Format {
  std::string_view name;
  bool (*is)(std::span<const std::byte>);
  Result<Sound> (*decode)(std::span<const std::byte>, const SoundLimits&);
};

constexpr Format kFormats[] = {
    {"WAV", is_wav, decode_wav},
    {"FLAC", is_flac, decode_flac},
    {"Ogg Vorbis", is_vorbis, decode_vorbis},
    {"MP3", is_mp3, decode_mp3},
};

const Format* format_of(std::span<const std::byte> file) {
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const Format& format) { return format.is(file); });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

std::string_view sound_format(std::span<const std::byte> file) {
  const Format* format = format_of(file);
  return format == nullptr ? std::string_view() : format->name;
}

Result<Sound> decode_sound(std::span<const std::byte> file, const SoundLimits& limits) {
  if (file.empty()) return fail(ErrorCode::kInvalidArgument, "The sound has no bytes.");
  if (file.size() > limits.max_file_bytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The sound has {} bytes, which is more than {}.", file.size(),
                            limits.max_file_bytes));
  }
  const Format* format = format_of(file);
  if (format == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "The sound is no WAV, MP3, FLAC or Ogg Vorbis file, as its first bytes say.");
  }
  return format->decode(file, limits);
}

}  // namespace puna::media
