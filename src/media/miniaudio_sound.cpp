// WAV, MP3 and FLAC by miniaudio; see sound_file.h.
#include <fmt/format.h>
#include <miniaudio.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "media/file_errors.h"
#include "media/memory_file.h"
#include "media/sound_file.h"
#include "media/sound_header.h"

namespace puna::media {

namespace {

struct Close {
  void operator()(ma_decoder* decoder) const {
    ma_decoder_uninit(decoder);
    delete decoder;
  }
};

ma_result read(ma_decoder* decoder, void* to, size_t n_bytes, size_t* n_read) {
  *n_read = static_cast<MemoryFile*>(decoder->pUserData)->read(to, n_bytes);
  return *n_read == 0 && n_bytes > 0 ? MA_AT_END : MA_SUCCESS;
}

ma_result seek(ma_decoder* decoder, ma_int64 by, ma_seek_origin origin) {
  auto& file = *static_cast<MemoryFile*>(decoder->pUserData);
  const size_t from = origin == ma_seek_origin_start     ? 0
                      : origin == ma_seek_origin_current ? file.at
                                                         : file.bytes.size();
  return file.seek(from, by) ? MA_SUCCESS : MA_BAD_SEEK;
}

// What is known of a file beyond what its decoder says.
struct Known {
  bool counted = false;           // the header says how many frames there are
  std::optional<Mp3Note> note{};  // frames before, of and after the sound
  bool bytes = false;             // samples are bytes
};

// Of bytes miniaudio takes the middle of 0 and 255 for silence, which is 128.
void silence_at_128(std::span<float> samples) {
  for (float& sample : samples) sample = ((sample + 1) * 127.5F - 128) / 128;
}

base::Result<Sound> decode(std::string_view format, ma_encoding_format encoding, const Known& known,
                           std::span<const std::byte> file, const SoundLimits& limits) {
  ma_decoder_config config = ma_decoder_config_init(ma_format_f32, 0, 0);
  config.encodingFormat = encoding;
  auto opened = std::make_unique<ma_decoder>();
  // Not ma_decoder_init_memory(), which frees twice where it fails late, as for 255 channels.
  MemoryFile source{file};
  if (ma_decoder_init(read, seek, &source, &config, opened.get()) != MA_SUCCESS) {
    return corrupt_file(format, "has no readable header");
  }
  const std::unique_ptr<ma_decoder, Close> decoder(opened.release());
  ma_uint32 n_channels = 0;
  ma_uint32 rate = 0;
  if (ma_decoder_get_data_format(decoder.get(), nullptr, &n_channels, &rate, nullptr, 0) !=
      MA_SUCCESS) {
    return corrupt_file(format, "has no readable header");
  }
  PUNA_TRY(SoundSink sink, SoundSink::open(format, rate, n_channels, limits));
  ma_uint64 n_frames = known.note ? known.note->n_samples : 0;
  if (known.counted &&
      ma_decoder_get_length_in_pcm_frames(decoder.get(), &n_frames) != MA_SUCCESS) {
    n_frames = 0;
  }
  PUNA_TRY(sink.expect(n_frames));
  constexpr ma_uint64 kFrames = 4096;
  std::vector<float> frames(kFrames * n_channels);
  uint64_t n_before = known.note ? known.note->n_before : 0;
  std::vector<float> after;  // what may be no sound any more
  bool ends_as_noted = known.note.has_value();
  while (true) {
    ma_uint64 n_read = 0;
    (void)ma_decoder_read_pcm_frames(decoder.get(), frames.data(), kFrames, &n_read);
    if (n_read == 0) break;
    const uint64_t n_skipped = std::min<uint64_t>(n_before, n_read);
    n_before -= n_skipped;
    std::span<float> taken =
        std::span(frames).subspan(static_cast<size_t>(n_skipped * n_channels),
                                  static_cast<size_t>((n_read - n_skipped) * n_channels));
    if (known.bytes) silence_at_128(taken);
    if (ends_as_noted) {
      const uint64_t n_sound =
          std::min<uint64_t>(taken.size() / n_channels, n_frames - sink.n_frames());
      const auto behind = taken.subspan(static_cast<size_t>(n_sound * n_channels));
      after.insert(after.end(), behind.begin(), behind.end());
      taken = taken.first(static_cast<size_t>(n_sound * n_channels));
    }
    PUNA_TRY(sink.put(taken));
    // Several files in a row have the note of the first one: then all of it is sound.
    if (ends_as_noted && after.size() / n_channels > known.note->n_after) {
      ends_as_noted = false;
      PUNA_TRY(sink.put(after));
    }
  }
  if (sink.n_frames() < n_frames) {
    return corrupt_file(format,
                        fmt::format("has {} samples of each channel, but its header says {}",
                                    sink.n_frames(), n_frames));
  }
  return sink.finish();
}

}  // namespace

base::Result<Sound> decode_wav(std::span<const std::byte> file, const SoundLimits& limits) {
  return decode("WAV", ma_encoding_format_wav, {.counted = true, .bytes = wav_has_bytes(file)},
                file, limits);
}

base::Result<Sound> decode_mp3(std::span<const std::byte> file, const SoundLimits& limits) {
  return decode("MP3", ma_encoding_format_mp3, {.note = mp3_note(file)}, file, limits);
}

base::Result<Sound> decode_flac(std::span<const std::byte> file, const SoundLimits& limits) {
  return decode("FLAC", ma_encoding_format_flac, {.counted = true}, file, limits);
}

}  // namespace puna::media
