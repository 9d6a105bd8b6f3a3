#include "media/exif.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "media/byte_reader.h"

namespace puna::media {

std::optional<uint32_t> exif_orientation(std::span<const std::byte> exif) {
  constexpr std::string_view kHead{"Exif\0\0", 6};
  if (begins_with(exif, kHead)) exif = exif.subspan(kHead.size());
  const bool little = begins_with(exif, {"II*\0", 4});
  if (!little && !begins_with(exif, {"MM\0*", 4})) return std::nullopt;
  const ByteReader bytes{exif, little ? Endian::kLittle : Endian::kBig};
  const uint64_t directory = bytes.u32(4).value_or(0);
  const uint32_t n_entries = bytes.u16(directory).value_or(0);
  for (uint32_t i = 0; i < n_entries; ++i) {
    constexpr uint64_t kEntryBytes = 12;
    constexpr uint32_t kOrientationTag = 274;
    constexpr uint32_t kShortType = 3;
    const uint64_t entry = directory + 2 + i * kEntryBytes;
    if (bytes.u16(entry) != kOrientationTag) continue;
    const uint32_t value = bytes.u16(entry + 8).value_or(1);
    return bytes.u16(entry + 2) == kShortType && value >= 1 && value <= 8 ? value : 1;
  }
  return std::nullopt;
}

std::optional<uint32_t> exif_orientation_of_text(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  const auto digit_of = [](char c) {
    const size_t at = std::string_view("0123456789abcdef").find(c);
    return static_cast<uint32_t>(at);
  };
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  uint32_t n_digits = 0, value = 0;
  for (const char c : text) {
    if (c == '\n') continue;
    const uint32_t digit = digit_of(c);
    if (digit > 15) return std::nullopt;
    value = value << 4 | digit;
    if (++n_digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xff));
  }
  return exif_orientation(bytes);
}

std::optional<uint32_t> xmp_orientation(std::string_view xmp) {
  constexpr std::string_view kTag = "tiff:Orientation";
  for (size_t at = xmp.find(kTag); at != std::string_view::npos; at = xmp.find(kTag, at + 1)) {
    std::string_view behind = xmp.substr(at + kTag.size());
    if (behind.starts_with("=\"")) {
      behind.remove_prefix(2);
    } else if (behind.starts_with('>')) {
      behind.remove_prefix(1);
    } else {
      continue;
    }
    if (!behind.empty() && behind[0] >= '0' && behind[0] <= '9')
      return static_cast<uint32_t>(behind[0] - '0');
  }
  return std::nullopt;
}

Picture upright(Picture picture, uint32_t orientation) {
  if (orientation < 2 || orientation > 8) return picture;
  // Whether the axes change places, and which of the result's axes then run backwards.
  struct Turn {
    bool swap, mirror_x, mirror_y;
  };
  constexpr std::array<Turn, 9> kTurns = {{{},
                                           {},
                                           {false, true, false},
                                           {false, true, true},
                                           {false, false, true},
                                           {true, false, false},
                                           {true, true, false},
                                           {true, true, true},
                                           {true, false, true}}};
  const Turn turn = kTurns[orientation];
  Picture out{picture.width, picture.height, std::vector<uint8_t>(picture.rgb.size())};
  if (turn.swap) std::swap(out.width, out.height);
  uint8_t* to = out.rgb.data();
  for (uint32_t y = 0; y < out.height; ++y) {
    for (uint32_t x = 0; x < out.width; ++x) {
      const uint32_t turned_x = turn.mirror_x ? out.width - 1 - x : x;
      const uint32_t turned_y = turn.mirror_y ? out.height - 1 - y : y;
      const size_t from = turn.swap ? size_t{turned_x} * picture.width + turned_y
                                    : size_t{turned_y} * picture.width + turned_x;
      to = std::copy_n(picture.rgb.data() + from * 3, 3, to);
    }
  }
  return out;
}

}  // namespace puna::media
