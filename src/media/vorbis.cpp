// Ogg Vorbis by libvorbis; see sound_file.h.
#include <fmt/format.h>
#include <vorbis/vorbisfile.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "media/byte_reader.h"
#include "media/file_errors.h"
#include "media/memory_file.h"
#include "media/sound_file.h"

namespace puna::media {

namespace {

constexpr std::string_view kFormat = "Ogg Vorbis";

size_t read(void* to, size_t size, size_t n, void* source) {
  return size == 0 ? 0 : static_cast<MemoryFile*>(source)->read(to, size * n) / size;
}

int seek(void* source, ogg_int64_t by, int origin) {
  auto& file = *static_cast<MemoryFile*>(source);
  const size_t from = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? file.at : file.bytes.size();
  return file.seek(from, by) ? 0 : -1;
}

long tell(void* source) { return static_cast<long>(static_cast<MemoryFile*>(source)->at); }

struct File {
  OggVorbis_File vorbis{};
  bool open = false;

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (open) ov_clear(&vorbis);
  }
};

// Whether the file ends with a whole page. Pages follow one another without gaps; where something
// else stands between them nothing is said.
bool ends_in_page(std::span<const std::byte> file) {
  constexpr uint64_t kHeaderBytes = 27;
  const ByteReader bytes{file};
  uint64_t at = 0;
  while (at < file.size()) {
    const auto page = file.subspan(static_cast<size_t>(at));
    constexpr std::string_view kMark = "OggS";
    if (!begins_with(page, kMark.substr(0, std::min(kMark.size(), page.size())))) return true;
    const uint64_t n_segments = bytes.u8(at + kHeaderBytes - 1).value_or(0);
    uint64_t end = at + kHeaderBytes + n_segments;
    for (uint64_t i = 0; i < n_segments; ++i) end += bytes.u8(at + kHeaderBytes + i).value_or(0);
    if (end > file.size()) return false;
    at = end;
  }
  return true;
}

}  // namespace

base::Result<Sound> decode_vorbis(std::span<const std::byte> bytes, const SoundLimits& limits) {
  if (!ends_in_page(bytes)) return corrupt_file(kFormat, "ends early");
  MemoryFile source{bytes};
  File file;
  const ov_callbacks callbacks{read, seek, nullptr, tell};
  if (ov_open_callbacks(&source, &file.vorbis, nullptr, 0, callbacks) != 0) {
    return corrupt_file(kFormat, "has no readable header");
  }
  file.open = true;
  const vorbis_info* info = ov_info(&file.vorbis, -1);
  if (info == nullptr || info->rate <= 0 || info->channels <= 0) {
    return corrupt_file(kFormat, "has no readable header");
  }
  const auto n_channels = static_cast<uint32_t>(info->channels);
  const long rate = info->rate;
  PUNA_TRY(SoundSink sink,
           SoundSink::open(kFormat, static_cast<uint32_t>(rate), n_channels, limits));
  const ogg_int64_t n_frames = ov_pcm_total(&file.vorbis, -1);
  if (n_frames > 0) PUNA_TRY(sink.expect(static_cast<uint64_t>(n_frames)));
  std::vector<float> frames;
  int link = -1;
  while (true) {
    constexpr int kFrames = 4096;
    float** channels = nullptr;
    int now = 0;
    const long n = ov_read_float(&file.vorbis, &channels, kFrames, &now);
    if (n == 0) break;
    if (n < 0) return corrupt_file(kFormat, "has packets that cannot be read");
    if (now != link) {  // the next of several streams
      link = now;
      info = ov_info(&file.vorbis, link);
      if (info == nullptr || info->channels != static_cast<int>(n_channels) || info->rate != rate) {
        return unsupported_file(kFormat, "changes its rate or channels in its middle");
      }
    }
    frames.resize(static_cast<size_t>(n) * n_channels);
    for (size_t i = 0; i < frames.size(); ++i) frames[i] = channels[i % n_channels][i / n_channels];
    PUNA_TRY(sink.put(frames));
  }
  return sink.finish();
}

}  // namespace puna::media
