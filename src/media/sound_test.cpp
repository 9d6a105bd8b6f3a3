#include "media/sound.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "media/mel.h"
#include "media/resampler.h"
#include "media/testing/fixtures.h"
#include "media/wav.h"

namespace puna::media {
namespace {

using testing::bytes_of;
using testing::read_fixture;

std::string little_endian(uint32_t value, size_t n_bytes) {
  std::string text;
  for (size_t i = 0; i < n_bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A WAV file whose header says it has n_claimed bytes of samples of two bytes.
std::string wav(uint32_t rate, uint32_t n_claimed, const std::string& samples,
                uint32_t n_channels = 1, uint32_t format = 1, uint32_t n_bits = 16) {
  return "RIFF" + little_endian(n_claimed + 36, 4) + "WAVEfmt " + little_endian(16, 4) +
         little_endian(format, 2) + little_endian(n_channels, 2) + little_endian(rate, 4) +
         little_endian(rate * n_channels * n_bits / 8, 4) +
         little_endian(n_channels * n_bits / 8, 2) + little_endian(n_bits, 2) + "data" +
         little_endian(n_claimed, 4) + samples;
}

void check_refused(std::string_view file, base::ErrorCode code, std::string_view words) {
  const auto sound = decode_sound(bytes_of(file));
  REQUIRE_FALSE(sound.has_value());
  CHECK(sound.error().code == code);
  CAPTURE(sound.error().message);
  CHECK(sound.error().message.find(words) != std::string::npos);
}

TEST_CASE("a sound that is written as WAV is read as it was") {
  const std::vector<float> samples = {0.0f, 0.5f, -1.0f, 1.25f, 1e-7f, 0.1f};
  const auto read = decode_sound(wav_file(samples));
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  CHECK(read->samples == samples);
}

TEST_CASE("every format is heard as the reference library hears it") {
  const base::Json facts = testing::read_facts("sounds.json");
  for (const auto& [name, expected] : facts.find("heard")->members()) {
    CAPTURE(name);
    const auto sound = decode_sound(read_fixture(name));
    REQUIRE_MESSAGE(sound.has_value(), (sound ? "" : sound.error().text()));
    REQUIRE(sound->samples.size() == static_cast<size_t>(expected.find("n")->integer()));
    // Decoders of lossy formats, and filters, differ by rounding and ripple; a sample is a step
    // of 3e-5.
    for (const auto& sample : expected.find("samples")->items()) {
      const auto at = static_cast<size_t>(sample.items()[0].integer());
      CAPTURE(at);
      CHECK(std::abs(sound->samples[at] - sample.items()[1].number()) < 1e-4);
    }
  }
}

TEST_CASE("a format is known by its bytes") {
  CHECK(sound_format(read_fixture("plain.wav")) == "WAV");
  CHECK(sound_format(read_fixture("sound.mp3")) == "MP3");
  CHECK(sound_format(read_fixture("sound.flac")) == "FLAC");
  CHECK(sound_format(read_fixture("sound.ogg")) == "Ogg Vorbis");
  CHECK(sound_format(read_fixture("photo.jpg")).empty());
  CHECK(sound_format(read_fixture("lossy.webp")).empty());
  check_refused("", base::ErrorCode::kInvalidArgument, "no bytes");
  check_refused("OggS and OpusHead", base::ErrorCode::kUnsupported,
                "no WAV, MP3, FLAC or Ogg Vorbis");
}

TEST_CASE("what a header claims is refused with both numbers") {
  const std::string second(32000, '\1');
  // Ten hours in a file of a second.
  check_refused(wav(16000, 36000U * 32000, second), base::ErrorCode::kInvalidArgument,
                "36000 seconds long or longer, which is more than 1800");
  check_refused(wav(16000, 64000, second), base::ErrorCode::kCorrupt,
                "has 16000 samples of each channel, but its header says 32000");
  check_refused(wav(16000, 0, ""), base::ErrorCode::kInvalidArgument, "no samples");
  check_refused(wav(5, 10, std::string(10, '\0')), base::ErrorCode::kUnsupported,
                "5 samples a second");
  check_refused(wav(900000, 10, std::string(10, '\0')), base::ErrorCode::kCorrupt,
                "no readable header");
  check_refused(wav(16000, 510, std::string(510, '\0'), 255), base::ErrorCode::kCorrupt,
                "no readable header");
  check_refused(wav(16000, 200, std::string(200, '\0'), 100), base::ErrorCode::kUnsupported,
                "100 channels");
  // Written as a stream, whose length was not known.
  const auto streamed = decode_sound(bytes_of(wav(16000, 0xffffffff, second)));
  REQUIRE_MESSAGE(streamed.has_value(), (streamed ? "" : streamed.error().text()));
  CHECK(streamed->samples.size() == 16000);
  const std::string not_a_number = little_endian(0x7fc00000, 4);
  check_refused(wav(16000, 4, not_a_number, 1, 3, 32), base::ErrorCode::kCorrupt, "no number");
}

TEST_CASE("the limit holds where a header says nothing") {
  SoundLimits limits;
  limits.max_seconds = 1;
  std::string samples(32002, '\0');
  auto sound = decode_sound(bytes_of(wav(16000, 0xffffffff, samples)), limits);
  REQUIRE_FALSE(sound.has_value());
  CHECK(sound.error().message.find("more than 1") != std::string::npos);
  samples.resize(32000);
  CHECK(decode_sound(bytes_of(wav(16000, 0xffffffff, samples)), limits).has_value());
  limits.max_seconds = 0;
  CHECK_FALSE(decode_sound(read_fixture("sound.mp3"), limits).has_value());
}

TEST_CASE("many channels at a high rate are refused by the header, however short they last") {
  // 1,000 seconds of 8 channels at 192 kHz in a file of a few samples.
  const std::string file = wav(192000, 192000U * 16 * 1000, std::string(3200, '\1'), 8);
  check_refused(file, base::ErrorCode::kInvalidArgument,
                "192000000 samples or more of each of 8 channels, which are more than 172800000 "
                "together");
  // Where the header says nothing, as they are decoded.
  SoundLimits limits;
  limits.max_samples = 32000;
  const auto streamed = [&](size_t n_samples) {
    const std::string samples(2 * n_samples, '\1');
    return decode_sound(bytes_of(wav(16000, 0xffffffff, samples, 2)), limits);
  };
  CHECK(streamed(32000).has_value());
  CHECK_FALSE(streamed(32002).has_value());
}

TEST_CASE("who has room for so many seconds is told of them before they are decoded") {
  std::vector<uint64_t> told;
  SoundLimits limits;
  limits.may_last = [&](uint64_t seconds) -> base::Result<void> {
    told.push_back(seconds);
    if (seconds < 2) return {};
    return base::fail(base::ErrorCode::kInvalidArgument, "There is no room.");
  };
  const auto error_of = [&](const std::string& file) {
    told.clear();
    const auto sound = decode_sound(bytes_of(file), limits);
    return sound ? std::string() : sound.error().message;
  };
  const std::string second(32000, '\1');
  CHECK(error_of(wav(16000, 5 * 32000, second)) == "There is no room.");
  CHECK(told == std::vector<uint64_t>{5});
  CHECK(error_of(wav(16000, 32000, second)).empty());
  CHECK(error_of(wav(16000, 0xffffffff, second + second + second)) == "There is no room.");
  CHECK(told.back() >= 2);
}

TEST_CASE("a sound that is cut off is refused") {
  for (const char* name : {"plain.wav", "bytes.wav", "sound.flac", "sound.mp3", "sound.ogg"}) {
    CAPTURE(name);
    const std::vector<std::byte> whole = read_fixture(name);
    for (size_t n = 0; n < whole.size(); ++n) {
      CAPTURE(n);
      const auto sound = decode_sound(std::span(whole).first(n));
      // A page of Ogg, and what lies behind the sound in the last frames of MP3, may lack unseen.
      if (std::string_view(name) == "sound.ogg" || std::string_view(name) == "sound.mp3") continue;
      CHECK_FALSE(sound.has_value());
    }
    for (const size_t part : {2, 3, 4})
      CHECK_FALSE(decode_sound(std::span(whole).first(whole.size() / part)).has_value());
  }
}

TEST_CASE("an MP3 is as long as its frames, whatever its note is worth") {
  const std::vector<std::byte> whole = read_fixture("sound.mp3");
  const std::string file(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto length = [](const std::string& text) -> size_t {
    const auto sound = decode_sound(bytes_of(text));
    return sound ? sound->samples.size() : 0;
  };
  REQUIRE(length(file) == 2000);
  // Behind one another: more frames than the first note tells of, none of which is lost.
  CHECK(length(file + file) >= 4000);
  const size_t note = std::min(file.find("Info"), file.find("Xing"));
  REQUIRE(note != std::string::npos);
  // A note without LAME's part: everything but the note's own frame.
  std::string plain = file;
  plain.replace(note + 120, 9, std::string(9, '\0'));
  CHECK(length(plain) > 2000);
  CHECK(length(plain) % 576 == 0);
  // Nothing delayed and nothing padded: only what the decoder is late by is taken away.
  std::string tight = file;
  tight.replace(note + 120 + 21, 3, std::string(3, '\0'));
  CHECK(length(tight) == length(plain) - 529);
  // More frames noted than there are.
  std::string cut = file;
  cut[note + 10] = 1;
  CHECK(length(cut) == 0);
}

TEST_CASE("bytes that are flipped never bring a decoder of sounds down") {
  for (const char* name : {"plain.wav", "sound.flac", "sound.mp3", "sound.ogg"}) {
    const std::vector<std::byte> whole = read_fixture(name);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> file = whole;
      file[at] ^= std::byte{static_cast<uint8_t>(1U << (at % 8))};
      (void)decode_sound(file);
    }
  }
}

TEST_CASE("rates whose table of taps would be large are not read") {
  CHECK(Resampler::can(384000, 16000));
  CHECK(Resampler::can(352800, 16000));
  CHECK(Resampler::can(44099, 16000));
  CHECK_FALSE(Resampler::can(95999, 16000));
  CHECK_FALSE(Resampler::can(384001, 16000));
  CHECK_FALSE(Resampler::can(0, 16000));
  check_refused(wav(95999, 200, std::string(200, '\0')), base::ErrorCode::kUnsupported,
                "95999 samples a second");
}

TEST_CASE("samples at another rate are the same sound, however they come") {
  constexpr double kPi = std::numbers::pi;
  for (const uint32_t rate : {8000U, 11025U, 22050U, 44100U, 48000U, 44099U}) {
    CAPTURE(rate);
    std::vector<float> in(rate / 4);
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<float>(std::sin(2 * kPi * 1000 * static_cast<double>(i) / rate));
    }
    std::vector<float> whole;
    Resampler at_once(rate, 16000);
    at_once.put(in, whole);
    at_once.finish(whole);
    CHECK(whole.size() == (in.size() * 16000 + rate - 1) / rate);
    for (size_t i = 300; i < whole.size() - 300; ++i) {
      REQUIRE(std::abs(whole[i] - std::sin(2 * kPi * 1000 * static_cast<double>(i) / 16000)) <
              1e-4);
    }
    std::vector<float> in_pieces;
    Resampler piecewise(rate, 16000);
    for (size_t at = 0, n = 1; at < in.size(); at += n, n = n * 3 % 1000 + 1) {
      piecewise.put(std::span(in).subspan(at, std::min(n, in.size() - at)), in_pieces);
    }
    piecewise.finish(in_pieces);
    CHECK(in_pieces == whole);
  }
}

TEST_CASE("what lies above half the rate is not folded down") {
  std::vector<float> in(12000);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] =
        static_cast<float>(std::sin(2 * std::numbers::pi * 9000 * static_cast<double>(i) / 48000));
  }
  std::vector<float> out;
  Resampler resampler(48000, 16000);
  resampler.put(in, out);
  resampler.finish(out);
  for (size_t i = 200; i < out.size() - 200; ++i) REQUIRE(std::abs(out[i]) < 1e-4);
}

TEST_CASE("spectrograms are Whisper's") {
  const base::Json facts = testing::read_facts("sounds.json");
  const auto sound = decode_sound(read_fixture("plain.wav"));
  REQUIRE(sound.has_value());
  for (const auto& fact : facts.find("mel")->items()) {
    const auto n_bins = static_cast<uint32_t>(fact.find("n_bins")->integer());
    Sound repeated;
    for (int64_t i = 0; i < fact.find("repeats")->integer(); ++i) {
      repeated.samples.insert(repeated.samples.end(), sound->samples.begin(), sound->samples.end());
    }
    const auto windows = log_mel(repeated, {n_bins});
    REQUIRE(windows.has_value());
    CHECK(windows->size() * kMelFrames == static_cast<size_t>(fact.find("frames")->integer()));
    for (const auto& value : fact.find("values")->items()) {
      const auto bin = static_cast<size_t>(value.items()[0].integer());
      const auto frame = static_cast<size_t>(value.items()[1].integer());
      CAPTURE(bin);
      CAPTURE(frame);
      const MelWindow& window = (*windows)[frame / kMelFrames];
      // The reference is rounded to f32 and to six places.
      CHECK(std::abs(window.values[bin * kMelFrames + frame % kMelFrames] -
                     value.items()[2].number()) < 2e-6);
    }
  }
  CHECK_FALSE(log_mel({}, {80}).has_value());
  CHECK_FALSE(log_mel(*sound, {0}).has_value());
  CHECK_FALSE(log_mel(*sound, {513}).has_value());
  CHECK_FALSE(log_mel(*sound, {80, UINT32_MAX}).has_value());
}

TEST_CASE("spectrograms are Gemma 4's") {
  const base::Json facts = testing::read_facts("sounds.json");
  const auto sound = decode_sound(read_fixture("plain.wav"));
  REQUIRE(sound.has_value());
  for (const auto& fact : facts.find("gemma4_mel")->items()) {
    const MelRecipe recipe{static_cast<uint32_t>(fact.find("n_bins")->integer()), 0,
                           MelKind::kGemma4};
    Sound repeated;
    for (int64_t i = 0; i < fact.find("repeats")->integer(); ++i)
      repeated.samples.insert(repeated.samples.end(), sound->samples.begin(), sound->samples.end());
    const auto windows = log_mel(repeated, recipe);
    REQUIRE(windows.has_value());
    const MelWindow& window = windows->front();
    CHECK(window.n_frames == fact.find("frames")->integer());
    CHECK(window.n_sounding == window.n_frames);
    for (const auto& value : fact.find("values")->items()) {
      const auto bin = static_cast<size_t>(value.items()[0].integer());
      const auto frame = static_cast<size_t>(value.items()[1].integer());
      CAPTURE(bin);
      CAPTURE(frame);
      // The reference computes in f32 what is near the floor, and is rounded to six places.
      CHECK(std::abs(window.values[bin * window.n_frames + frame] - value.items()[2].number()) <
            2e-5);
    }
  }
  // Windows of 30 seconds, and none of what is too short for a frame.
  Sound lasting;
  lasting.samples.resize(size_t{30} * kSampleRate + 161, 0.25F);
  const auto two = log_mel(lasting, {20, 0, MelKind::kGemma4});
  REQUIRE(two.has_value());
  REQUIRE(two->size() == 2);
  CHECK(two->front().n_frames == 2999);
  CHECK(two->back().n_frames == 1);
  lasting.samples.resize(160);
  CHECK(log_mel(lasting, {20, 0, MelKind::kGemma4})->front().n_frames == 0);
  CHECK_FALSE(log_mel({}, {20, 0, MelKind::kGemma4}).has_value());
}

TEST_CASE("a spectrogram without whole windows has the frames of the sound") {
  Sound sound;
  for (uint32_t i = 0; i < 160 * 8; ++i)
    sound.samples.push_back(0.5F * std::sin(0.1F * static_cast<float>(i)));
  const auto whole = log_mel(sound, {20});
  const auto long_silence = log_mel(sound, {20, 300});
  const auto none = log_mel(sound, {20, 0});
  REQUIRE(whole.has_value());
  REQUIRE(long_silence.has_value());
  REQUIRE(none.has_value());
  CHECK(whole->front().n_frames == kMelFrames);
  CHECK(whole->front().n_sounding == 8);
  CHECK(long_silence->front().n_frames == 8);
  CHECK(none->front().n_frames == 8);
  CHECK(none->front().values.size() == 20 * 8);
  for (uint32_t bin = 0; bin < 20; ++bin) {
    const auto at = [&](const MelWindow& window, uint32_t frame) {
      return window.values[size_t{bin} * window.n_frames + frame];
    };
    // The end of the sound is mirrored in one, silent in the other.
    for (uint32_t frame = 0; frame < 8; ++frame)
      CHECK(at(whole->front(), frame) == at(long_silence->front(), frame));
    CHECK(at(none->front(), 0) == at(whole->front(), 0));
    CHECK(at(none->front(), 7) != at(whole->front(), 7));
  }
  // The last window of a long sound has what is left of it.
  sound.samples.resize(size_t{31} * kSampleRate, 0.25F);
  const auto two = log_mel(sound, {20, 0});
  REQUIRE(two.has_value());
  REQUIRE(two->size() == 2);
  CHECK(two->back().n_frames == 100);
  CHECK(two->back().n_sounding == 100);
}

}  // namespace
}  // namespace puna::media
