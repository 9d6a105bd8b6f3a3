#include "media/png.h"

#include <spng.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

// A text of the file that may be large, inflated where it was compressed; the last one so called.
std::string_view text_of(std::span<const spng_text> texts, std::string_view keyword) {
  std::string_view found;
  for (const spng_text& text : texts) {
    if (text.keyword == keyword) found = {text.text, text.length};
  }
  return found;
}

uint32_t orientation_of(spng_ctx* context) {
  spng_exif exif{};
  std::vector<spng_text> texts;
  uint32_t n_texts = 0;
  if (spng_get_text(context, nullptr, &n_texts) == 0) {
    texts.resize(n_texts);
    if (spng_get_text(context, texts.data(), &n_texts) != 0) texts.clear();
  }
  std::optional<uint32_t> found;
  if (spng_get_exif(context, &exif) == 0) {
    found = exif_orientation(std::as_bytes(std::span(exif.data, exif.length)));
  } else {
    found = exif_orientation_of_text(text_of(texts, "Raw profile type exif"));
  }
  if (!found) found = xmp_orientation(text_of(texts, "XML:com.adobe.xmp"));
  return found.value_or(1);
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
  out.orientation = orientation_of(context.get());
  return out;
}

}  // namespace puna::media
