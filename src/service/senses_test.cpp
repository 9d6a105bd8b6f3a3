// Files of pictures through a model's senses: a file goes through the encoder once, is known again
// by its bytes, and what is refused is refused before that.
#include "service/senses.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "media/mel.h"
#include "media/wav.h"
#include "service/host_thread.h"
#include "service/request_media.h"
#include "service/testing/seeing_model.h"

using namespace puna;
using service::HostThread;
using service::LoadedModel;
using service::MediaFile;
using service::Request;
using service::test::kPictureTokens;
using service::test::media_file;
using service::test::seeing_model;

namespace {

using File = std::shared_ptr<const MediaFile>;

// A chat whose first message begins with files.
Request chat_about(const std::vector<File>& files, size_t n_turns = 1) {
  Request out;
  for (size_t i = 0; i < n_turns; ++i) {
    if (i > 0) out.messages.push_back({.role = "assistant", .content = "Sure."});
    out.messages.push_back({.role = "user", .content = "aa"});
  }
  for (const File& file : files) out.media.push_back({.file = file});
  out.sampling.temperature = 0;
  out.max_tokens = 2;
  return out;
}

service::Reply answered(HostThread& host, Request request) {
  auto reply = service::run(host, std::move(request), {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  return *std::move(reply);
}

base::Error refused(const LoadedModel& model, Request request) {
  const std::span<const Request> requests(&request, 1);
  const auto read = service::RequestMedia::find(model, requests).read(model, requests);
  REQUIRE(!read.has_value());
  return read.error();
}

}  // namespace

TEST_CASE("five turns about a picture encode it once, and read on as without it") {
  HostThread with(seeing_model()), without(seeing_model());
  std::array<uint32_t, 2> n_first{};
  for (size_t turn = 1; turn <= 5; ++turn) {
    // Each turn brings the file anew, as a client does.
    const service::Reply seen = answered(with, chat_about({media_file("photo.png")}, turn));
    const service::Reply plain = answered(without, chat_about({}, turn));
    CHECK(seen.text == plain.text);
    if (turn == 1) n_first = {seen.stats.n_prompt, plain.stats.n_prompt};
    if (turn > 1) CHECK(seen.stats.n_prompt <= plain.stats.n_prompt + plain.stats.n_cached);
    if (turn > 1) CHECK(seen.stats.n_cached > kPictureTokens);
  }
  CHECK(n_first[0] == n_first[1] + kPictureTokens);
  const service::HostStatus status = with.status();
  CHECK(status.n_media_encoded == 1);
  CHECK(status.n_media_found == 4);
}

TEST_CASE("a file that stands in a request twice is encoded once; others are their own") {
  HostThread host(seeing_model());
  const File photo = media_file("photo.png"), again = media_file("photo.png"),
             other = media_file("turned.png");
  answered(host, chat_about({photo, photo, again, other}));
  CHECK(host.status().n_media_encoded == 2);
}

TEST_CASE("what another request has had encoded meanwhile is not read again") {
  HostThread host(seeing_model());
  const Request mine = chat_about({media_file("photo.png"), media_file("photo.png")});
  const std::span<const Request> requests(&mine, 1);
  auto media = service::RequestMedia::find(host.model(), requests);
  CHECK(!media.is_encoded());
  answered(host, chat_about({media_file("photo.png")}));
  REQUIRE(media.read(host.model(), requests).has_value());
  CHECK(media.is_encoded());
  CHECK(service::RequestMedia::find(host.model(), requests).is_encoded());

  const auto address = std::make_shared<MediaFile>(
      MediaFile{.name = "a picture", .bytes = {}, .url = "https://example.org/cat.png"});
  const Request fetched = chat_about({media_file("photo.png"), address});
  CHECK(!service::RequestMedia::find(host.model(), std::span(&fetched, 1)).is_encoded());
}

TEST_CASE("of the rows that are kept the least recently used go first") {
  constexpr uint64_t kBytes = uint64_t{kPictureTokens} * service::test::kWide * sizeof(float);
  service::SensesOptions options;
  options.cache_bytes = 2 * kBytes;
  HostThread host(seeing_model(256, options));
  const auto encode = [&](const char* name) {
    Request request = chat_about({media_file(name)});
    const auto done = service::encode_media(host, std::span(&request, 1));
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    return host.status().n_media_encoded;
  };
  CHECK(encode("photo.png") == 1);
  CHECK(encode("turned.png") == 2);
  CHECK(encode("photo.png") == 2);
  CHECK(encode("grey.jpg") == 3);
  CHECK(encode("photo.png") == 3);
  CHECK(encode("turned.png") == 4);
  CHECK(host.model().senses->status().bytes_kept == 2 * kBytes);
}

TEST_CASE("what is counted is what is evaluated") {
  HostThread host(seeing_model());
  const Request request = chat_about({media_file("photo.png")});
  const auto tokens = service::prompt_tokens(host.model(), request);
  REQUIRE(tokens.has_value());
  CHECK(host.status().n_media_encoded == 0);
  const service::Reply reply = answered(host, request);
  CHECK(reply.stats.n_prompt == tokens->size());
}

TEST_CASE("media are refused by name before anything is encoded") {
  const LoadedModel model = seeing_model(64);
  const base::Error sound =
      refused(model, chat_about({media_file("plain.wav", models::Sense::kSounds)}));
  CHECK(sound.code == base::ErrorCode::kUnsupported);
  CHECK(sound.message.ends_with("takes no sounds."));

  const File photo = media_file("photo.png");
  const base::Error many = refused(model, chat_about({photo, photo, photo, photo}));
  CHECK(many.message == "The first 3 pictures and sounds are 75 tokens, but the context holds 64.");
  REQUIRE(many.excess.has_value());
  CHECK(many.excess->n == 75);
  CHECK(many.excess->n_room == 64);

  MediaFile cut = *photo;
  cut.bytes.resize(cut.bytes.size() / 2);
  CHECK(refused(model, chat_about({std::make_shared<const MediaFile>(cut)})).code ==
        base::ErrorCode::kCorrupt);

  MediaFile remote{.name = "the picture", .bytes = {}, .url = "http://example.org/a.png"};
  CHECK(refused(model, chat_about({std::make_shared<const MediaFile>(remote)}))
            .message.find("http://example.org/a.png") != std::string::npos);

  const LoadedModel blind = service::test::scripted_model(service::test::kPlainTemplate);
  CHECK(refused(blind, chat_about({photo})).message.find("takes texts alone") != std::string::npos);
  CHECK(model.senses->status().n_encoded == 0);
}

TEST_CASE("a sound that is too long for the context is refused by its header") {
  LoadedModel model = service::test::scripted_model(service::test::kPlainTemplate);
  const auto open = [] {
    return formats::open_model(std::string("tests/encoders/voxtral.gguf"), formats::OpenOptions{});
  };
  service::SensesOptions options;
  options.n_threads = 1;
  auto senses = base::run_until(service::Senses::load(open, {}, std::move(options)), [] {});
  REQUIRE_MESSAGE(senses.has_value(), senses.error().text());
  model.senses = *std::move(senses);
  MediaFile sound{.name = "speech.wav",
                  .sense = models::Sense::kSounds,
                  .bytes = media::wav_file(std::vector<float>(media::kSampleRate, 0.25f))};
  const base::Error second = refused(model, chat_about({std::make_shared<const MediaFile>(sound)}));
  REQUIRE(second.excess.has_value());
  CHECK(second.message.find("tokens, but the context holds 64.") != std::string::npos);

  // Of 20 windows, says the header; what follows is the one second.
  constexpr uint32_t kBytes = 20 * media::kMelWindowSeconds * media::kSampleRate * sizeof(float);
  constexpr size_t kDataBytesAt = 40;
  std::memcpy(sound.bytes.data() + kDataBytesAt, &kBytes, sizeof kBytes);
  const base::Error minutes =
      refused(model, chat_about({std::make_shared<const MediaFile>(sound)}));
  CHECK(minutes.code == base::ErrorCode::kInvalidArgument);
  REQUIRE_MESSAGE(minutes.excess.has_value(), minutes.text());
  CHECK(minutes.excess->n == 20 * second.excess->n);
  CHECK(minutes.excess->n_room == 64);
  CHECK(minutes.message.find("tokens or more, but the context holds 64.") != std::string::npos);
}

TEST_CASE("an encoder that is loaded again asks nothing of those who watched the first load") {
  const auto cancel = std::make_unique<std::atomic<bool>>(false);
  int n_told = 0;
  service::SensesOptions options;
  options.n_threads = 2;
  options.hooks.cancel = cancel.get();
  options.hooks.on_progress = [&](uint64_t, uint64_t) { ++n_told; };
  const auto open = [] {
    return formats::open_model(std::string("tests/encoders/qwen25vl.gguf"), formats::OpenOptions{});
  };
  const auto senses = base::run_until(service::Senses::load(open, {}, std::move(options)), [] {});
  REQUIRE_MESSAGE(senses.has_value(), senses.error().text());
  CHECK(n_told > 0);
  *cancel = true;
  n_told = 0;
  // In patches of 8 x 8: more than memory is planned for at first.
  constexpr uint32_t kHeight = 8 * 66, kWidth = 8 * 64;
  static_assert(kHeight / 8 * (kWidth / 8) > engine::kUsualTileRows);
  const std::vector<float> pixels(size_t{3} * kHeight * kWidth, 0.25f);
  std::vector<models::EncoderInput> tiles(1, {pixels, kHeight, kWidth});
  const auto seen =
      base::run_until((*senses)->run(nullptr, models::Sense::kPictures, std::move(tiles)), [] {});
  REQUIRE_MESSAGE(seen.has_value(), seen.error().text());
  CHECK(seen->media.n_rows == 66 * 64 / 4);
  CHECK(n_told == 0);
}

TEST_CASE("an encoder of another width belongs to another model") {
  const auto senses = service::test::senses();
  CHECK(senses->check_fits(service::test::kWide, "m.gguf").has_value());
  CHECK(!senses->check_fits(service::test::kWide + 1, "m.gguf").has_value());
}
