#include "media/webp.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "media/exif.h"
#include "media/file_errors.h"

namespace puna::media {

namespace {

constexpr std::string_view kFormat = "WebP";

struct FreeDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

// An iterator that lets go of what it holds.
template <class Iterator, void (*kRelease)(Iterator*)>
struct Held : Iterator {
  Held() : Iterator{} {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { kRelease(this); }
};

uint32_t orientation_of(const WebPDemuxer* demuxer) {
  Held<WebPChunkIterator, WebPDemuxReleaseChunkIterator> exif, xmp;
  std::optional<uint32_t> found;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &exif) != 0)
    found = exif_orientation(std::as_bytes(std::span(exif.chunk.bytes, exif.chunk.size)));
  if (!found && WebPDemuxGetChunk(demuxer, "XMP ", 1, &xmp) != 0)
    found = xmp_orientation({reinterpret_cast<const char*>(xmp.chunk.bytes), xmp.chunk.size});
  return found.value_or(1);
}

}  // namespace

base::Result<PictureFile> decode_webp(std::span<const std::byte> file,
                                      const PictureLimits& limits) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(file.data());
  // The size comes first: what demuxing keeps grows with the file.
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(bytes, file.size(), &features) != VP8_STATUS_OK) {
    return corrupt_file(kFormat, "has no readable header");
  }
  PictureFile out;
  PUNA_TRY(out.picture, blank_picture(kFormat, static_cast<uint64_t>(features.width),
                                      static_cast<uint64_t>(features.height), limits));
  const WebPData data{bytes, file.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, FreeDemuxer> demuxer(WebPDemuxPartial(&data, &state));
  if (demuxer == nullptr || state != WEBP_DEMUX_DONE) {
    return corrupt_file(kFormat,
                        state == WEBP_DEMUX_PARSE_ERROR ? "breaks its format" : "ends early");
  }
  Held<WebPIterator, WebPDemuxReleaseIterator> frame;
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0 || frame.complete == 0) {
    return corrupt_file(kFormat, "has no whole frame");
  }
  Picture& picture = out.picture;
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.width <= 0 || frame.height <= 0 ||
      static_cast<uint64_t>(frame.x_offset) + static_cast<uint64_t>(frame.width) > picture.width ||
      static_cast<uint64_t>(frame.y_offset) + static_cast<uint64_t>(frame.height) >
          picture.height) {
    return corrupt_file(kFormat, "has a frame that lies outside of it");
  }
  const size_t stride = size_t{picture.width} * 3;
  const size_t first =
      static_cast<size_t>(frame.y_offset) * stride + static_cast<size_t>(frame.x_offset) * 3;
  // Decoding asks for whole rows but the last one to lie in the buffer.
  if (WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, picture.rgb.data() + first,
                        picture.rgb.size() - first, static_cast<int>(stride)) == nullptr) {
    return corrupt_file(kFormat, "has pixels that cannot be read");
  }
  out.orientation = orientation_of(demuxer.get());
  return out;
}

}  // namespace puna::media
