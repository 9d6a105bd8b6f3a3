#include "media/jpeg.h"

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which does not include what it uses
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "media/byte_reader.h"
#include "media/exif.h"
#include "media/file_errors.h"

namespace puna::media {

namespace {

constexpr std::string_view kFormat = "JPEG";

// A scan goes over all pixels again, and a file of some kilobytes can have thousands.
constexpr int kMaxScans = 100;

// libjpeg's state with what its callbacks need. Errors leave libjpeg by longjmp; the functions
// that may be left so (each begins with setjmp) have no locals with destructors.
struct Decoder {
  jpeg_decompress_struct jpeg{};  // first: callbacks find the Decoder by it
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf out_of_libjpeg{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  bool ended = false;        // the file ended where more was wanted
  bool ended_short = false;  // and what was wanted was pixels
  bool many_scans = false;

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&jpeg); }
};

template <class Struct>
Decoder& decoder_of(Struct* jpeg) {
  return *static_cast<Decoder*>(jpeg->client_data);
}

[[noreturn]] void leave(j_common_ptr jpeg) {
  Decoder& decoder = decoder_of(jpeg);
  jpeg->err->format_message(jpeg, decoder.message.data());
  std::longjmp(decoder.out_of_libjpeg, 1);
}

void note(j_common_ptr jpeg, int level) {
  if (level >= 0) return;  // no warning
  ++jpeg->err->num_warnings;
  Decoder& decoder = decoder_of(jpeg);
  if (decoder.ended && jpeg->err->msg_code == JWRN_HIT_MARKER) decoder.ended_short = true;
}

// Many a file lacks the marker at its end, which is made up here; whether pixels lack too is seen
// by the warning that follows.
boolean give_end_marker(j_decompress_ptr jpeg) {
  static constexpr JOCTET kEnd[] = {0xff, JPEG_EOI};
  decoder_of(jpeg).ended = true;
  jpeg->src->next_input_byte = kEnd;
  jpeg->src->bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void skip(j_decompress_ptr jpeg, long n_bytes) {
  if (n_bytes <= 0) return;
  jpeg_source_mgr& source = *jpeg->src;
  if (static_cast<unsigned long>(n_bytes) > source.bytes_in_buffer) {
    give_end_marker(jpeg);
    return;
  }
  source.next_input_byte += n_bytes;
  source.bytes_in_buffer -= static_cast<size_t>(n_bytes);
}

void watch_scans(j_common_ptr jpeg) {
  auto* const decompress = reinterpret_cast<j_decompress_ptr>(jpeg);
  if (decompress->input_scan_number <= kMaxScans) return;
  decoder_of(jpeg).many_scans = true;
  leave(jpeg);
}

bool open(Decoder& decoder, std::span<const std::byte> file) {
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = leave;
  decoder.errors.emit_message = note;
  decoder.errors.output_message = [](j_common_ptr) {};
  decoder.jpeg.client_data = &decoder;
  if (setjmp(decoder.out_of_libjpeg) != 0) return false;
  jpeg_create_decompress(&decoder.jpeg);
  decoder.source.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
  decoder.source.bytes_in_buffer = file.size();
  decoder.source.init_source = [](j_decompress_ptr) {};
  decoder.source.fill_input_buffer = give_end_marker;
  decoder.source.skip_input_data = skip;
  decoder.source.resync_to_restart = jpeg_resync_to_restart;
  decoder.source.term_source = [](j_decompress_ptr) {};
  decoder.jpeg.src = &decoder.source;
  decoder.progress.progress_monitor = watch_scans;
  decoder.jpeg.progress = &decoder.progress;
  constexpr int kExifMarker = JPEG_APP0 + 1;
  jpeg_save_markers(&decoder.jpeg, kExifMarker, 0xffff);
  return jpeg_read_header(&decoder.jpeg, TRUE) == JPEG_HEADER_OK;
}

// Writes the rows of the file, of n_components bytes a pixel each, one after another.
bool read_rows(Decoder& decoder, uint8_t* to, size_t row_bytes) {
  if (setjmp(decoder.out_of_libjpeg) != 0) return false;
  jpeg_start_decompress(&decoder.jpeg);
  while (decoder.jpeg.output_scanline < decoder.jpeg.output_height) {
    JSAMPROW row = to + decoder.jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.jpeg, &row, 1);
  }
  return true;
}

uint32_t orientation_of(const Decoder& decoder) {
  constexpr std::string_view kExif("Exif\0\0", 6), kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  std::optional<uint32_t> of_exif, of_xmp;
  bool has_exif = false;
  for (const auto* marker = decoder.jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view bytes(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (bytes.starts_with(kExif) && !has_exif) {
      has_exif = true;
      of_exif = exif_orientation(std::as_bytes(std::span(bytes)));
    } else if (bytes.starts_with(kXmp)) {
      of_xmp = xmp_orientation(bytes.substr(kXmp.size()));
    }
  }
  return of_exif ? *of_exif : of_xmp.value_or(1);
}

// Of inverted CMYK: what ink leaves of white, times what black leaves, rounded.
void rgb_of_cmyk(std::span<const uint8_t> cmyk, std::span<uint8_t> rgb) {
  for (size_t pixel = 0; pixel < rgb.size() / 3; ++pixel) {
    const uint32_t white = cmyk[pixel * 4 + 3];
    for (size_t i = 0; i < 3; ++i) {
      const uint32_t ink = 255U - cmyk[pixel * 4 + i];
      const uint32_t product = ink * white + 128;
      rgb[pixel * 3 + i] = static_cast<uint8_t>(white - (((product >> 8) + product) >> 8));
    }
  }
}

std::unexpected<base::Error> failed(const Decoder& decoder) {
  if (decoder.many_scans) {
    return unsupported_file(
        kFormat, "goes over its pixels more than " + std::to_string(kMaxScans) + " times");
  }
  if (decoder.ended) return corrupt_file(kFormat, "ends early");
  return corrupt_file(kFormat, std::string("cannot be read: ") + decoder.message.data());
}

}  // namespace

base::Result<PictureFile> decode_jpeg(std::span<const std::byte> file,
                                      const PictureLimits& limits) {
  Decoder decoder;
  if (!open(decoder, file)) return failed(decoder);
  PictureFile out;
  PUNA_TRY(out.picture,
           blank_picture(kFormat, decoder.jpeg.image_width, decoder.jpeg.image_height, limits));
  const bool cmyk = decoder.jpeg.num_components == 4;
  decoder.jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  std::vector<uint8_t> inks;
  if (cmyk) inks.resize(out.picture.rgb.size() / 3 * 4);
  std::vector<uint8_t>& rows = cmyk ? inks : out.picture.rgb;
  if (!read_rows(decoder, rows.data(), rows.size() / out.picture.height)) return failed(decoder);
  // A file of several scans is whole only with the last one.
  if (decoder.ended_short || (decoder.ended && jpeg_has_multiple_scans(&decoder.jpeg) != 0)) {
    return corrupt_file(kFormat, "ends early");
  }
  if (cmyk) rgb_of_cmyk(inks, out.picture.rgb);
  out.orientation = orientation_of(decoder);
  return out;
}

}  // namespace puna::media
