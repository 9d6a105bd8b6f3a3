// Pictures and sounds as they come in bodies, and where they stand in a message.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "models/vision/projector.h"
#include "service/request.h"

namespace puna::api {

using MediaFile = std::shared_ptr<const service::MediaFile>;

// "data:image/png;base64,…", whose media type is not looked at, or an http or https address, which
// is fetched later, if the server takes any. Errors: kInvalidArgument naming the field;
// kUnsupported for other addresses.
base::Result<MediaFile> media_of_url(std::string_view field, std::string_view url,
                                     models::Sense sense);
// Errors: kInvalidArgument naming the field.
base::Result<MediaFile> media_of_base64(std::string_view field, std::string_view text,
                                        models::Sense sense);
// A sound where the bytes begin like one, else a picture.
base::Result<MediaFile> media_of_base64(std::string_view field, std::string_view text);
// A list of the latter, or one. Errors: kInvalidArgument naming the field.
base::Result<std::vector<MediaFile>> media_of_list(std::string_view field, const base::Json& list);

// A part of OpenAI's chats, {type: "image_url", image_url: {url, detail}} or {type: "input_audio",
// input_audio: {data, format}}; null: it is neither. Errors: kInvalidArgument and kUnsupported,
// naming the field.
base::Result<MediaFile> media_of_part(const base::Json& part);

// A text with pictures and sounds in it, as it grows.
struct Content {
  std::string text{};
  std::vector<service::PlacedMedia> media{};  // of message 0

  Content() = default;
  explicit Content(std::string the_text) : text(std::move(the_text)) {}
  // Behind what is there.
  void add(MediaFile file) { media.push_back({.at = text.size(), .file = std::move(file)}); }
  // More of it, with `between` where both have something.
  void join(Content more, std::string_view between = "");
  bool empty() const { return text.empty() && media.empty(); }
};

// Puts `more` behind `text`, which is that of a message, with `between` where both have something,
// and its media to those of all messages.
void join(std::string& text, std::vector<service::PlacedMedia>& media, size_t message, Content more,
          std::string_view between);

// What stands for media in the texts of /completion, where they are given beside: another in each
// process, unless LLAMA_MEDIA_MARKER says one.
const std::string& media_marker();

}  // namespace puna::api
