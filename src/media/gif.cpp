#include "media/gif.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "media/byte_reader.h"
#include "media/file_errors.h"

namespace puna::media {

namespace {

constexpr std::string_view kFormat = "GIF";

using Color = std::array<uint8_t, 3>;
using Palette = std::array<Color, 256>;

// The data of an image: blocks of up to 255 bytes, each behind its length, until one of none.
class BlockBits {
 public:
  BlockBits(const ByteReader& file, uint64_t at) : file_(file), at_(at) {}

  // The next n_bits, the lowest first; nothing where the blocks or the file are at their end.
  std::optional<uint32_t> take(uint32_t n_bits) {
    while (n_held_ < n_bits) {
      if (n_left_ == 0) {
        n_left_ = file_.u8(at_++).value_or(0);
        if (n_left_ == 0) return std::nullopt;
      }
      const std::optional<uint8_t> byte = file_.u8(at_++);
      if (!byte) return std::nullopt;
      --n_left_;
      held_ |= uint32_t{*byte} << n_held_;
      n_held_ += 8;
    }
    const uint32_t bits = held_ & ((1U << n_bits) - 1);
    held_ >>= n_bits;
    n_held_ -= n_bits;
    return bits;
  }

 private:
  const ByteReader& file_;
  uint64_t at_;
  uint32_t n_left_ = 0;  // bytes of the block
  uint32_t held_ = 0;
  uint32_t n_held_ = 0;  // bits
};

constexpr uint32_t kMaxCodeBits = 12;
constexpr uint32_t kMaxCodes = 1 << kMaxCodeBits;

// LZW with codes that grow: the indices of an image. True when all of them were there.
bool unpack(BlockBits bits, uint32_t min_bits, std::vector<uint8_t>& indices) {
  // A code above the plain ones is another code and one byte behind it.
  std::array<uint16_t, kMaxCodes> before{};
  std::array<uint8_t, kMaxCodes> byte_of{};
  std::array<uint8_t, kMaxCodes> text{};  // of one code, its end first
  const uint32_t clear = 1U << min_bits;
  const uint32_t end = clear + 1;
  for (uint32_t code = 0; code < clear; ++code) byte_of[code] = static_cast<uint8_t>(code);
  uint32_t n_codes = end + 1;
  uint32_t n_bits = min_bits + 1;
  uint32_t last = kMaxCodes;  // the code before, where there is one
  uint8_t first_byte = 0;     // of the last code's text
  size_t n_done = 0;
  while (n_done < indices.size()) {
    const std::optional<uint32_t> code = bits.take(n_bits);
    if (!code || *code == end) return false;
    if (*code == clear) {
      n_codes = end + 1;
      n_bits = min_bits + 1;
      last = kMaxCodes;
      continue;
    }
    if (*code > n_codes || (last == kMaxCodes && *code > clear)) return false;
    uint32_t n_text = 0;
    uint32_t at = *code;
    if (at == n_codes) {  // the code that is made just now: the last text and its first byte
      text[n_text++] = first_byte;
      at = last;
    }
    while (at >= clear) {
      text[n_text++] = byte_of[at];
      at = before[at];
    }
    first_byte = byte_of[at];
    text[n_text++] = first_byte;
    const size_t n_taken = std::min<size_t>(n_text, indices.size() - n_done);
    for (size_t i = 0; i < n_taken; ++i) indices[n_done++] = text[n_text - 1 - i];
    if (last != kMaxCodes && n_codes < kMaxCodes) {
      before[n_codes] = static_cast<uint16_t>(last);
      byte_of[n_codes] = first_byte;
      ++n_codes;
      if (n_codes == 1U << n_bits && n_bits < kMaxCodeBits) ++n_bits;
    }
    last = *code;
  }
  return true;
}

// The rows of an interlaced image in the order in which they come.
std::vector<uint32_t> row_order(uint32_t height, bool interlaced) {
  struct Pass {
    uint32_t first, step;
  };
  static constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  static constexpr Pass kPlain[] = {{0, 1}};
  std::vector<uint32_t> rows;
  rows.reserve(height);
  for (const Pass& pass : interlaced ? std::span<const Pass>(kInterlaced) : std::span(kPlain)) {
    for (uint32_t row = pass.first; row < height; row += pass.step) rows.push_back(row);
  }
  return rows;
}

// What precedes the first image.
struct Head {
  Palette palette{};
  uint8_t background = 0;  // index of what no image covers
  uint64_t image_at = 0;   // of the image's descriptor
};

// Reads a palette of 2 << size colours and says where it ends; those beyond are black.
std::optional<uint64_t> read_palette(const ByteReader& file, uint64_t at, uint32_t size,
                                     Palette& palette) {
  const uint32_t n_colors = 2U << size;
  palette = {};
  if (!file.u8(at + uint64_t{n_colors} * 3 - 1)) return std::nullopt;
  for (uint32_t i = 0; i < n_colors; ++i) {
    for (uint32_t c = 0; c < 3; ++c) palette[i][c] = file.u8(at + i * 3 + c).value_or(0);
  }
  return at + uint64_t{n_colors} * 3;
}

constexpr uint32_t kPaletteFlag = 0x80;
constexpr uint32_t kPaletteSize = 0x07;

std::optional<Head> read_head(const ByteReader& file) {
  Head head;
  for (size_t i = 0; i < head.palette.size(); ++i) head.palette[i].fill(static_cast<uint8_t>(i));
  uint64_t at = 13;
  const uint32_t flags = file.u8(10).value_or(0);
  if ((flags & kPaletteFlag) != 0) {
    const auto end = read_palette(file, at, flags & kPaletteSize, head.palette);
    if (!end) return std::nullopt;
    at = *end;
  }
  constexpr uint8_t kExtension = 0x21;
  constexpr uint8_t kGraphicControl = 0xf9;
  constexpr uint8_t kImage = 0x2c;
  while (true) {
    const std::optional<uint8_t> kind = file.u8(at);
    if (!kind) return std::nullopt;
    if (*kind == kImage) {
      head.image_at = at;
      return head;
    }
    if (*kind != kExtension) {
      if (*kind == 0x3b) return std::nullopt;  // the end, without an image
      ++at;                                    // stray bytes between blocks
      continue;
    }
    if (file.u8(at + 1) == kGraphicControl && (file.u8(at + 3).value_or(0) & 1) != 0) {
      head.background = file.u8(at + 6).value_or(0);
    }
    at += 2;
    while (true) {
      const std::optional<uint8_t> n = file.u8(at);
      if (!n) return std::nullopt;
      at += 1U + *n;
      if (*n == 0) break;
    }
  }
}

}  // namespace

base::Result<PictureFile> decode_gif(std::span<const std::byte> bytes,
                                     const PictureLimits& limits) {
  const ByteReader file{bytes};
  std::optional<Head> head = read_head(file);
  if (!head) return corrupt_file(kFormat, "ends without an image");
  const uint64_t at = head->image_at;
  const auto u16 = [&](uint64_t place) { return file.u16(place).value_or(0); };
  const uint32_t left = u16(at + 1);
  const uint32_t top = u16(at + 3);
  const uint32_t width = u16(at + 5);
  const uint32_t height = u16(at + 7);
  const uint32_t flags = file.u8(at + 9).value_or(0);
  uint64_t data_at = at + 10;
  if ((flags & kPaletteFlag) != 0) {
    const auto end = read_palette(file, data_at, flags & kPaletteSize, head->palette);
    if (!end) return corrupt_file(kFormat, "ends early");
    data_at = *end;
  }
  // An image that reaches beyond the screen makes it larger.
  PictureFile out;
  PUNA_TRY(out.picture, blank_picture(kFormat, std::max<uint64_t>(u16(6), left + width),
                                      std::max<uint64_t>(u16(8), top + height), limits));
  const uint32_t min_bits = file.u8(data_at).value_or(0);
  if (min_bits < 1 || min_bits > 8) {
    return corrupt_file(kFormat, "has pixels of " + std::to_string(min_bits) + " bits");
  }
  std::vector<uint8_t> indices(size_t{width} * height);
  if (!unpack(BlockBits(file, data_at + 1), min_bits, indices)) {
    return corrupt_file(kFormat, "has fewer pixels than it says");
  }
  Picture& picture = out.picture;
  const auto put = [&](uint8_t* to, uint8_t index) { std::ranges::copy(head->palette[index], to); };
  for (size_t i = 0; i < picture.rgb.size(); i += 3) put(&picture.rgb[i], head->background);
  constexpr uint32_t kInterlaced = 0x40;
  const uint8_t* index = indices.data();
  for (const uint32_t row : row_order(height, (flags & kInterlaced) != 0)) {
    uint8_t* to = picture.rgb.data() + (size_t{top + row} * picture.width + left) * 3;
    for (uint32_t x = 0; x < width; ++x, to += 3) put(to, *index++);
  }
  return out;
}

}  // namespace puna::media
