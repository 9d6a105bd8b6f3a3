#include "media/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "media/bmp.h"
#include "media/byte_reader.h"
#include "media/exif.h"
#include "media/gif.h"
#include "media/jpeg.h"
#include "media/picture_file.h"
#include "media/png.h"
#include "media/webp.h"

namespace puna::media {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct Format {
  std::string_view name;
  // What a file begins with: the first text, and, where it is not empty, the second at its place.
  std::string_view magic;
  std::string_view second;
  size_t second_at;
  Result<PictureFile> (*decode)(std::span<const std::byte>, const PictureLimits&);
};

constexpr Format kFormats[] = {
    {"PNG", "\x89PNG\r\n\x1a\n", "", 0, decode_png},
    {"JPEG", "\xff\xd8\xff", "", 0, decode_jpeg},
    {"WebP", "RIFF", "WEBP", 8, decode_webp},
    {"GIF", "GIF87a", "", 0, decode_gif},
    {"GIF", "GIF89a", "", 0, decode_gif},
    {"BMP", "BM", "", 0, decode_bmp},
};

const Format* format_of(std::span<const std::byte> file) {
  const auto* const found = std::ranges::find_if(kFormats, [&](const Format& format) {
    return begins_with(file, format.magic) && file.size() >= format.second_at &&
           begins_with(file.subspan(format.second_at), format.second);
  });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

std::string_view picture_format(std::span<const std::byte> file) {
  const Format* format = format_of(file);
  return format == nullptr ? std::string_view() : format->name;
}

Result<Picture> decode_picture(std::span<const std::byte> file, const PictureLimits& limits) {
  if (file.empty()) return fail(ErrorCode::kInvalidArgument, "The picture has no bytes.");
  if (file.size() > limits.max_file_bytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The picture has {} bytes, which is more than {}.", file.size(),
                            limits.max_file_bytes));
  }
  const Format* format = format_of(file);
  if (format == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "The picture is no PNG, JPEG, WebP, GIF or BMP file, as its first bytes say.");
  }
  PUNA_TRY(PictureFile decoded, format->decode(file, limits));
  return upright(std::move(decoded.picture), decoded.orientation);
}

}  // namespace puna::media
