#include "media/bmp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "media/byte_reader.h"
#include "media/file_errors.h"

namespace puna::media {

namespace {

constexpr std::string_view kFormat = "BMP";

constexpr uint64_t kFileHeaderBytes = 14;
constexpr uint32_t kCoreHeaderBytes = 12;  // OS/2's first, with sides of 16 bits
constexpr uint32_t kInfoHeaderBytes = 40;

// Values of the field "compression".
constexpr uint32_t kRaw = 0;
constexpr uint32_t kRunsOf8 = 1;
constexpr uint32_t kRunsOf4 = 2;
constexpr uint32_t kMasks = 3;

using Color = std::array<uint8_t, 3>;

struct Header {
  uint64_t width = 0;
  uint64_t height = 0;
  bool top_down = false;
  uint32_t n_bits = 0;  // of a pixel
  uint32_t compression = kRaw;
  uint64_t n_colors = 0;  // of the palette
  uint64_t palette_at = 0;
  uint32_t color_bytes = 0;  // of a palette's entry
  uint64_t pixels_at = 0;
  std::array<uint32_t, 3> masks{};  // red, green, blue, of pixels of 16 and 32 bits
};

void read_masks(const ByteReader& file, Header& header) {
  if (header.n_bits == 16) header.masks = {0x7c00, 0x03e0, 0x001f};
  if (header.n_bits == 32) header.masks = {0xff0000, 0xff00, 0xff};
  if (header.compression != kMasks) return;
  std::array<uint32_t, 3> masks{};
  for (size_t i = 0; i < 3; ++i) {
    masks[i] = file.u32(kFileHeaderBytes + kInfoHeaderBytes + i * 4).value_or(0);
  }
  if (masks != std::array<uint32_t, 3>{}) header.masks = masks;
}

base::Result<Header> read_header(const ByteReader& file) {
  Header header;
  const uint32_t header_bytes = file.u32(kFileHeaderBytes).value_or(0);
  const auto u16 = [&](uint64_t at) { return file.u16(kFileHeaderBytes + at).value_or(0); };
  const auto u32 = [&](uint64_t at) { return file.u32(kFileHeaderBytes + at).value_or(0); };
  if (header_bytes == kCoreHeaderBytes) {
    header.width = u16(4);
    header.height = u16(6);
    header.n_bits = u16(10);
    header.color_bytes = 3;
  } else if (header_bytes >= kInfoHeaderBytes && header_bytes <= 1024) {
    header.width = u32(4);
    const auto height = static_cast<int32_t>(u32(8));
    header.top_down = height < 0;
    header.height = static_cast<uint64_t>(std::abs(int64_t{height}));
    header.n_bits = u16(14);
    header.compression = u32(16);
    header.n_colors = u32(32);
    header.color_bytes = 4;
  } else {
    return unsupported_file(
        kFormat, "has a header of " + std::to_string(header_bytes) + " bytes, which is not read");
  }
  header.pixels_at = file.u32(10).value_or(0);
  header.palette_at = kFileHeaderBytes + header_bytes;
  if (header.n_bits <= 8) {
    if (header.n_colors == 0) header.n_colors = uint64_t{1} << header.n_bits;
    // Some writers forget the palette when they say where the pixels begin.
    if (header.pixels_at == header.palette_at) {
      header.pixels_at += header.n_colors * header.color_bytes;
    }
  }
  read_masks(file, header);
  return header;
}

// What is read of each compression: the sizes of pixels, and whether rows may come from the top.
struct Reading {
  uint32_t compression;
  std::array<uint32_t, 6> n_bits;
  bool top_down;
};

constexpr Reading kReadings[] = {{kRaw, {1, 4, 8, 16, 24, 32}, true},
                                 {kRunsOf8, {8}, false},
                                 {kRunsOf4, {4}, false},
                                 {kMasks, {16, 24, 32}, true}};

base::Result<void> check(const Header& header) {
  const bool known =
      header.n_bits > 0 && std::ranges::any_of(kReadings, [&](const Reading& reading) {
        return reading.compression == header.compression &&
               std::ranges::find(reading.n_bits, header.n_bits) != reading.n_bits.end() &&
               (reading.top_down || !header.top_down);
      });
  if (known) return {};
  return unsupported_file(kFormat, "has pixels of " + std::to_string(header.n_bits) +
                                       " bits in compression " +
                                       std::to_string(header.compression) + ", which are not read");
}

// 256 colours; those that the file does not have are black.
std::array<Color, 256> read_palette(const ByteReader& file, const Header& header) {
  std::array<Color, 256> palette{};
  for (size_t i = 0; i < palette.size() && i < header.n_colors; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      palette[i][2 - c] =
          file.u8(header.palette_at + i * uint64_t{header.color_bytes} + c).value_or(0);
    }
  }
  return palette;
}

// A row of palette indices, each of n_bits, the first in the highest bits of a byte.
void unpack_indices(const ByteReader& file, uint64_t at, uint32_t n_bits,
                    std::span<uint8_t> indices) {
  const uint32_t per_byte = 8 / n_bits;
  for (size_t x = 0; x < indices.size(); ++x) {
    const uint32_t byte = file.u8(at + x / per_byte).value_or(0);
    const auto shift = static_cast<uint32_t>(8 - n_bits * (x % per_byte + 1));
    indices[x] = static_cast<uint8_t>(byte >> shift & ((1U << n_bits) - 1));
  }
}

// Of the bits under a mask, as a byte.
uint8_t channel(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift;
  return static_cast<uint8_t>(uint64_t{(pixel & mask) >> shift} * 255 / most);
}

// The runs of a whole image, bottom row first: indices of [height, width]. What runs leave out is
// index 0. False where the file ends in the middle of them.
bool unpack_runs(const ByteReader& file, const Header& header, std::vector<uint8_t>& indices) {
  const bool halves = header.compression == kRunsOf4;
  const uint64_t width = header.width;
  uint64_t at = header.pixels_at;
  uint64_t x = 0;
  uint64_t y = 0;
  const auto put = [&](uint32_t index) {
    if (x < width && y < header.height) {
      indices[static_cast<size_t>(y * width + x)] = static_cast<uint8_t>(index);
    }
    ++x;
  };
  const auto half = [&](uint32_t byte, uint32_t i) {
    return !halves ? byte : i % 2 == 0 ? byte >> 4 : byte & 15;
  };
  while (y < header.height) {
    const std::optional<uint8_t> n = file.u8(at);
    const std::optional<uint8_t> byte = file.u8(at + 1);
    if (!n || !byte) return false;
    at += 2;
    if (*n > 0) {  // a run
      for (uint32_t i = 0; i < *n; ++i) put(half(*byte, i));
    } else if (*byte == 0) {  // the end of a row
      x = 0;
      ++y;
    } else if (*byte == 1) {  // the end of the image
      return true;
    } else if (*byte == 2) {  // a move
      const std::optional<uint8_t> right = file.u8(at);
      const std::optional<uint8_t> up = file.u8(at + 1);
      if (!right || !up) return false;
      x += *right;
      y += *up;
      at += 2;
    } else {  // indices as they are, padded to pairs of bytes
      const uint32_t n_bytes = halves ? (*byte + 1U) / 2 : *byte;
      if (!file.u8(at + n_bytes - 1)) return false;
      for (uint32_t i = 0; i < *byte; ++i) {
        put(half(file.u8(at + (halves ? i / 2 : i)).value_or(0), i));
      }
      at += n_bytes + n_bytes % 2;
    }
  }
  return true;
}

// Writes a row of pixels that are no indices.
void unpack_colors(const ByteReader& file, uint64_t at, const Header& header, uint8_t* to) {
  for (uint64_t x = 0; x < header.width; ++x, to += 3) {
    if (header.n_bits == 24) {
      for (uint64_t c = 0; c < 3; ++c) to[2 - c] = file.u8(at + x * 3 + c).value_or(0);
      continue;
    }
    const uint32_t pixel =
        header.n_bits == 16 ? file.u16(at + x * 2).value_or(0) : file.u32(at + x * 4).value_or(0);
    for (size_t c = 0; c < 3; ++c) to[c] = channel(pixel, header.masks[c]);
  }
}

}  // namespace

base::Result<PictureFile> decode_bmp(std::span<const std::byte> bytes,
                                     const PictureLimits& limits) {
  const ByteReader file{bytes};
  PUNA_TRY(const Header header, read_header(file));
  PUNA_TRY(check(header));
  PictureFile out;
  const bool runs = header.compression == kRunsOf8 || header.compression == kRunsOf4;
  // Rows are whole numbers of four bytes, but the last one need not be.
  const uint64_t row_bytes = (header.width * header.n_bits + 31) / 32 * 4;
  const uint64_t last_row_bytes = (header.width * header.n_bits + 7) / 8;
  PUNA_TRY(out.picture, blank_picture(kFormat, header.width, header.height, limits));
  if (!runs && header.pixels_at + row_bytes * (header.height - 1) + last_row_bytes > bytes.size()) {
    return corrupt_file(kFormat, "ends early");
  }
  Picture& picture = out.picture;
  const auto palette = read_palette(file, header);
  std::vector<uint8_t> indices(picture.width * size_t{runs ? picture.height : 1});
  if (runs && !unpack_runs(file, header, indices)) return corrupt_file(kFormat, "ends early");
  for (uint32_t row = 0; row < picture.height; ++row) {
    const uint32_t y = header.top_down ? row : picture.height - 1 - row;
    uint8_t* to = picture.rgb.data() + size_t{y} * picture.width * 3;
    const uint64_t at = header.pixels_at + row * row_bytes;
    if (header.n_bits > 8) {
      unpack_colors(file, at, header, to);
      continue;
    }
    if (!runs) unpack_indices(file, at, header.n_bits, indices);
    const uint8_t* index = indices.data() + (runs ? size_t{row} * picture.width : 0);
    for (uint32_t x = 0; x < picture.width; ++x) to = std::ranges::copy(palette[*index++], to).out;
  }
  return out;
}

}  // namespace puna::media
