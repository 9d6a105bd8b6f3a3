#include "api/media.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <random>
#include <utility>

#include "api/answer_fields.h"
#include "api/base64.h"
#include "api/fields.h"
#include "media/sound.h"

namespace puna::api {

using base::ErrorCode;
using base::Json;
using base::Result;
using models::Sense;

namespace {

using Kind = Field::Kind;

constexpr Field kImageUrl[] = {
    {"url", Kind::kText, "A data: URL, or an address."},
    Field{"detail", Kind::kText, "Pictures are read in the size that the model was trained with."}
        .one_of("auto|low|high|original"),
};
constexpr Field kAudio[] = {
    {"data", Kind::kText, "The file in base64."},
    Field{"format", Kind::kText, "What it is, though its bytes say so."}.one_of("wav|mp3|flac|ogg"),
    {"url", Kind::kText, "A data: URL or an address, in place of data."},
};

bool begins_as(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() &&
         std::ranges::equal(text.substr(0, beginning.size()), beginning, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

std::string name_of(std::string_view field, Sense sense) {
  return fmt::format("the {} in \"{}\"", sense == Sense::kPictures ? "picture" : "sound", field);
}

MediaFile file_of(std::string_view field, std::vector<std::byte> bytes, Sense sense) {
  return std::make_shared<const service::MediaFile>(
      service::MediaFile{.name = name_of(field, sense), .sense = sense, .bytes = std::move(bytes)});
}

// What stands there may be long.
std::unexpected<base::Error> no_base64(std::string_view field, std::string_view text) {
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The field \"{}\" is no base64 ({} characters).", field, text.size()));
}

Result<std::vector<std::byte>> bytes_of(std::string_view field, std::string_view text) {
  auto bytes = from_base64(text);
  if (!bytes) return no_base64(field, text);
  return *std::move(bytes);
}

const Json* member(const Json& part, std::string_view name, const Json& none) {
  const Json* value = part.find(name);
  return value ? value : &none;
}

std::string make_marker() {
  // The environment is not changed once threads run.
  if (const char* given = std::getenv("LLAMA_MEDIA_MARKER"); given && *given)  // NOLINT
    return given;
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string out = "<__media_";
  for (int i = 0; i < 32; ++i) out += kLetters[random() % kLetters.size()];
  return out + "__>";
}

}  // namespace

Result<MediaFile> media_of_base64(std::string_view field, std::string_view text, Sense sense) {
  PUNA_TRY(std::vector<std::byte> bytes, bytes_of(field, text));
  return file_of(field, std::move(bytes), sense);
}

Result<MediaFile> media_of_base64(std::string_view field, std::string_view text) {
  PUNA_TRY(std::vector<std::byte> bytes, bytes_of(field, text));
  const Sense sense = media::sound_format(bytes).empty() ? Sense::kPictures : Sense::kSounds;
  return file_of(field, std::move(bytes), sense);
}

Result<std::vector<MediaFile>> media_of_list(std::string_view field, const Json& list) {
  std::vector<MediaFile> out;
  if (list.is_string()) {
    PUNA_TRY(out.emplace_back(), media_of_base64(field, list.string()));
    return out;
  }
  if (!list.is_array()) return refuse_field(field, list, "a list of texts in base64");
  for (const Json& each : list.items()) {
    if (!each.is_string()) return refuse_field(field, each, "a list of texts in base64");
    PUNA_TRY(out.emplace_back(), media_of_base64(field, each.string()));
  }
  return out;
}

Result<MediaFile> media_of_url(std::string_view field, std::string_view url, Sense sense) {
  if (begins_as(url, "http://") || begins_as(url, "https://")) {
    return std::make_shared<const service::MediaFile>(service::MediaFile{
        .name = name_of(field, sense), .sense = sense, .bytes = {}, .url = std::string(url)});
  }
  if (!begins_as(url, "data:")) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The field \"{}\" begins with \"{}\", but has to be a data: URL or an http or "
                    "https address.",
                    field, url.substr(0, 20)));
  }
  const size_t comma = url.find(',');
  static constexpr std::string_view kCoding = ";base64";
  if (comma == std::string_view::npos || comma < kCoding.size() ||
      !begins_as(url.substr(comma - kCoding.size()), kCoding)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The field \"{}\" is a data: URL that is not in base64.", field));
  }
  return media_of_base64(field, url.substr(comma + 1), sense);
}

Result<MediaFile> media_of_part(const Json& part) {
  const Json none;
  const Json& type = *member(part, "type", none);
  if (type == Json("image_url")) {
    const Json& value = *member(part, "image_url", none);
    if (!value.is_object()) return refuse_field("image_url", value, "an object with a url");
    PUNA_TRY(const Body body, Body::read(value, {kImageUrl}));
    const auto url = body.text("url");
    if (!url) return refuse_field("url", none, "a text");
    return media_of_url("image_url", *url, Sense::kPictures);
  }
  if (type != Json("input_audio")) return nullptr;
  const Json& value = *member(part, "input_audio", none);
  if (!value.is_object()) return refuse_field("input_audio", value, "an object with data");
  PUNA_TRY(const Body body, Body::read(value, {kAudio}));
  if (const auto data = body.text("data"))
    return media_of_base64("input_audio", *data, Sense::kSounds);
  const auto url = body.text("url");
  if (!url) return refuse_field("data", none, "a text in base64");
  return media_of_url("input_audio", *url, Sense::kSounds);
}

void Content::join(Content more, std::string_view between) {
  api::join(text, media, 0, std::move(more), between);
}

void join(std::string& text, std::vector<service::PlacedMedia>& media, size_t message, Content more,
          std::string_view between) {
  if (!text.empty() && !more.text.empty()) text += between;
  for (service::PlacedMedia& one : more.media) {
    one.message = message;
    one.at += text.size();
    media.push_back(std::move(one));
  }
  text += more.text;
}

const std::string& media_marker() {
  static const std::string kMarker = make_marker();
  return kMarker;
}

}  // namespace puna::api
