#include "media/png.h"

#include <spng.h>

#include <memory>
#include <utility>

#include "media/exif.h"
#include "media/file_errors.h"

namespace puna::media {

namespace {

constexpr std::string_view kFormat = "PNG";

// Of chunks that are kept or inflated beside the pixels: texts, colour profiles, EXIF data.
constexpr size_t kMaxChunkBytes = size_t{8} << 20;
constexpr size_t kMaxChunksBytes = size_t{32} << 20;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

std::unexpected<base::Error> failed(int error) {
  return corrupt_file(kFormat, std::string("cannot be read: ") + spng_strerror(error));
}

}  // namespace

base::Result<PictureFile> decode_png(std::span<const std::byte> file, const PictureLimits& limits) {
  const std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(0));
  if (context == nullptr) return corrupt_file(kFormat, "finds no memory for its decoder");
  // The picture's own size is checked below, in words of ours.
  if (const int error = spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunksBytes)) {
    return failed(error);
  }
  // What is no part of the pixels may be damaged.
  if (const int error = spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_DISCARD)) {
    return failed(error);
  }
  if (const int error = spng_set_png_buffer(context.get(), file.data(), file.size())) {
    return failed(error);
  }
  spng_ihdr header{};
  if (const int error = spng_get_ihdr(context.get(), &header)) return failed(error);
  PictureFile out;
  PUNA_TRY(out.picture, blank_picture(kFormat, header.width, header.height, limits));
  if (const int error = spng_decode_image(context.get(), out.picture.rgb.data(),
                                          out.picture.rgb.size(), SPNG_FMT_RGB8, 0)) {
    return failed(error);
  }
  // What follows the pixels, such as how they are turned.
  if (const int error = spng_decode_chunks(context.get())) return failed(error);
  spng_exif exif{};
  if (spng_get_exif(context.get(), &exif) == 0) {
    out.orientation = exif_orientation(std::as_bytes(std::span(exif.data, exif.length)));
  }
  return out;
}

}  // namespace puna::media
