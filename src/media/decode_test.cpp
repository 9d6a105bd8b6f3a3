#include "media/decode.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "media/exif.h"
#include "media/testing/fixtures.h"

namespace puna::media {
namespace {

using testing::bytes_of;
using testing::read_fixture;

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string little_endian(uint32_t value, size_t n_bytes) {
  std::string text;
  for (size_t i = 0; i < n_bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// The beginning of a PNG of one byte a pixel, with the right checksum.
std::string png_head(uint32_t width, uint32_t height) {
  using namespace std::string_literals;
  const std::string chunk = "IHDR" + big_endian(width) + big_endian(height) + "\x08\0\0\0\0"s;
  const auto bytes = std::as_bytes(std::span(chunk));
  return "\x89PNG\r\n\x1a\n\0\0\0\x0d"s + chunk + big_endian(base::crc32(bytes));
}

void check_refused(std::string_view file, base::ErrorCode code, std::string_view words,
                   const PictureLimits& limits = {}) {
  const auto decoded = decode_picture(bytes_of(file), limits);
  REQUIRE_FALSE(decoded.has_value());
  CHECK(decoded.error().code == code);
  CAPTURE(decoded.error().message);
  CHECK(decoded.error().message.find(words) != std::string::npos);
}

TEST_CASE("every format gives the pixels that Pillow gives") {
  const base::Json facts = testing::read_facts("pictures.json");
  for (const auto& [name, expected] : facts.find("decoded")->members()) {
    CAPTURE(name);
    const auto picture = decode_picture(read_fixture(name));
    REQUIRE_MESSAGE(picture.has_value(), (picture ? "" : picture.error().text()));
    CHECK(picture->width == expected.items()[0].integer());
    CHECK(picture->height == expected.items()[1].integer());
    CHECK(testing::crc_of(*picture) == expected.items()[2].integer());
  }
}

TEST_CASE("grey of 16 bits is its high byte") {
  // Pillow's own conversion makes everything above 255 white.
  using namespace std::string_literals;
  std::string png = png_head(2, 1);
  png[24] = 16;
  const std::string head = png.substr(12, 17);
  png.replace(29, 4, big_endian(base::crc32(std::as_bytes(std::span(head)))));
  // A stored block of deflate: the filter 0, then 0x1234 and 0xff00.
  const std::string data =
      "IDAT\x78\x01\x01\x05\0\xfa\xff\0\x12\x34\xff\0"s + big_endian(0x02e70146);
  png += big_endian(static_cast<uint32_t>(data.size() - 4)) + data +
         big_endian(base::crc32(std::as_bytes(std::span(data)))) + "\0\0\0\0IEND\xae\x42\x60\x82"s;
  const auto picture = decode_picture(bytes_of(png));
  REQUIRE_MESSAGE(picture.has_value(), (picture ? "" : picture.error().text()));
  CHECK(picture->rgb == std::vector<uint8_t>{0x12, 0x12, 0x12, 0xff, 0xff, 0xff});
}

TEST_CASE("a format is known by its bytes") {
  CHECK(picture_format(read_fixture("photo.jpg")) == "JPEG");
  CHECK(picture_format(read_fixture("lossy.webp")) == "WebP");
  CHECK(picture_format(read_fixture("runs8.bmp")) == "BMP");
  CHECK(picture_format(read_fixture("interlaced.gif")) == "GIF");
  CHECK(picture_format(read_fixture("alpha.png")) == "PNG");
  CHECK(picture_format(read_fixture("plain.wav")).empty());
  CHECK(picture_format({}).empty());
}

TEST_CASE("nothing, another file and too large a file are refused") {
  check_refused("", base::ErrorCode::kInvalidArgument, "no bytes");
  check_refused("%PDF-1.7 ...", base::ErrorCode::kUnsupported, "no PNG, JPEG, WebP, GIF or BMP");
  PictureLimits limits;
  limits.max_file_bytes = 10;
  check_refused("GIF89a.....", base::ErrorCode::kInvalidArgument, "11 bytes, which is more than 10",
                limits);
}

TEST_CASE("what a header claims is refused with both numbers before it is allocated") {
  using namespace std::string_literals;
  // Each claims more than 10^9 pixels; a decoder that allocated them would be seen.
  check_refused(png_head(100000, 100000), base::ErrorCode::kInvalidArgument,
                "100000 x 100000 pixels, which is more on a side than 32768");
  check_refused(png_head(32768, 32768), base::ErrorCode::kInvalidArgument,
                "more in all than 67108864");
  check_refused(png_head(0, 5), base::ErrorCode::kCorrupt, "PNG");
  const std::string jpeg =
      "\xff\xd8\xff\xc0\0\x0b\x08\xfd\xe8\xfd\xe8\1\1\x11\0"s + "\xff\xda\0\x08\1\1\0\0\x3f\0"s;
  check_refused(jpeg, base::ErrorCode::kInvalidArgument, "65000 x 65000 pixels, which is more");
  check_refused("GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"s,
                base::ErrorCode::kInvalidArgument, "65535 x 65535");
  check_refused("BM"s + std::string(8, '\0') + little_endian(54, 4) + little_endian(40, 4) +
                    little_endian(0x7fffffff, 4) + little_endian(0x7fffffff, 4) +
                    little_endian(1, 2) + little_endian(24, 2) + std::string(24, '\0'),
                base::ErrorCode::kInvalidArgument, "2147483647 x 2147483647");
  // An extended header: canvas sides less one, three bytes each.
  check_refused("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\x3f\0\xff\x3f\0"s,
                base::ErrorCode::kInvalidArgument, "16384 x 16384");
}

TEST_CASE("a file that is cut off anywhere is refused or gives the same pixels") {
  const base::Json facts = testing::read_facts("pictures.json");
  for (const auto& [name, expected] : facts.find("decoded")->members()) {
    CAPTURE(name);
    const std::vector<std::byte> whole = read_fixture(name);
    size_t n_given = 0;
    for (size_t n = 0; n < whole.size(); ++n) {
      const auto picture = decode_picture(std::span(whole).first(n));
      if (!picture) {
        CHECK(!picture.error().message.empty());
        continue;
      }
      // Only what follows the pixels may lack: the marker at the end, other frames, a last note.
      CAPTURE(n);
      ++n_given;
      CHECK(testing::crc_of(*picture) == expected.items()[2].integer());
    }
    CHECK(n_given < whole.size() / 2 + 20);
  }
}

TEST_CASE("bytes that are flipped never bring a decoder down") {
  const base::Json facts = testing::read_facts("pictures.json");
  PictureLimits limits;
  limits.max_pixels = 1 << 20;
  for (const auto& [name, expected] : facts.find("decoded")->members()) {
    const std::vector<std::byte> whole = read_fixture(name);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> file = whole;
      file[at] ^= std::byte{static_cast<uint8_t>(1U << (at % 8))};
      const auto picture = decode_picture(file, limits);
      if (picture) CHECK(picture->rgb.size() == size_t{picture->width} * picture->height * 3);
    }
  }
}

TEST_CASE("a JPEG of thousands of scans is refused") {
  // A progressive file whose last scan comes again and again.
  const std::vector<std::byte> file = read_fixture("progressive.jpg");
  std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const size_t scan = text.rfind("\xff\xda");
  const std::string last = text.substr(scan, text.size() - 2 - scan);
  text.resize(text.size() - 2);
  for (int i = 0; i < 2000; ++i) text += last;
  check_refused(text + "\xff\xd9", base::ErrorCode::kUnsupported, "more than 100 times");
}

TEST_CASE("orientations turn a picture upright") {
  // a b c      Numbered as EXIF has it: 6 is upright once it is turned to the right.
  // d e f
  Picture picture{3, 2, {}};
  for (const char letter : std::string_view("abcdef"))
    picture.rgb.insert(picture.rgb.end(), 3, static_cast<uint8_t>(letter));
  const std::string_view expected[] = {"abcdef", "abcdef", "cbafed", "fedcba", "defabc",
                                       "adbecf", "daebfc", "fcebda", "cfbead", "abcdef"};
  for (uint32_t orientation = 0; orientation < 10; ++orientation) {
    CAPTURE(orientation);
    const Picture turned = upright(picture, orientation);
    std::string letters;
    for (size_t i = 0; i < turned.rgb.size(); i += 3) letters += static_cast<char>(turned.rgb[i]);
    CHECK(letters == expected[orientation]);
    CHECK(turned.width == (orientation >= 5 && orientation <= 8 ? 2 : 3));
  }
}

TEST_CASE("EXIF data that is cut off or wrong says that a picture is upright") {
  using namespace std::string_literals;
  const std::string exif = "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"s;
  CHECK(exif_orientation(bytes_of(exif)) == 6);
  for (size_t n = 0; n < exif.size() - 2; ++n)
    CHECK(exif_orientation(bytes_of(exif.substr(0, n))).value_or(1) == 1);
  std::string other = exif;
  other[25] = 9;
  CHECK(exif_orientation(bytes_of(other)).value_or(1) == 1);
  CHECK(exif_orientation(bytes_of("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x03\0\0\0"s)) == 3);
}

}  // namespace
}  // namespace puna::media
