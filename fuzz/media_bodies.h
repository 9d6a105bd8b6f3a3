// Bodies of requests with pictures and sounds, as each dialect has them; the files are any bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/media.h"
#include "base/json.h"

namespace puna::fuzz {

inline std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(bytes.size() - i, 3);
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (k < n ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

inline base::Json object(std::initializer_list<std::pair<const char*, base::Json>> members) {
  base::Json out = base::Json::object();
  for (const auto& [name, value] : members) out.set(name, value);
  return out;
}
inline base::Json list(std::initializer_list<base::Json> items) {
  base::Json out = base::Json::array();
  for (const base::Json& item : items) out.push(item);
  return out;
}
inline base::Json message(base::Json content) {
  return list({object({{"role", "user"}, {"content", std::move(content)}})});
}

// For the endpoint at this path, about a file called a picture and one that may be either; null
// where the endpoint takes none. `which` chooses among what a dialect has for one thing.
inline base::Json media_body(std::string_view path, std::string_view picture, std::string_view any,
                             size_t which) {
  using base::Json;
  const auto ends = [&](std::string_view end) { return path.ends_with(end); };
  const std::string url = "data:image/png;base64," + base64(picture);
  const Json sound = object(
      {{"type", "input_audio"},
       {"input_audio", object({{"data", base64(any)}, {"format", which % 2 ? "mp3" : "wav"}})}});
  if (path.find("chat/completions") != path.npos && !ends("/control")) {
    return object(
        {{"messages",
          message(list(
              {object({{"type", "image_url"}, {"image_url", object({{"url", url}})}}), sound}))}});
  }
  if (path.find("/responses") != path.npos) {
    const Json seen = which % 2 ? object({{"type", "input_file"}, {"file_data", url}})
                                : object({{"type", "input_image"}, {"image_url", url}});
    return object({{"input", message(list({seen, sound}))}});
  }
  if (path.starts_with("/v1/messages")) {
    const auto image = [&](std::string_view bytes) {
      return object({{"type", "image"},
                     {"source", object({{"type", "base64"},
                                        {"media_type", which % 2 ? "image/png" : "image/gif"},
                                        {"data", base64(bytes)}})}});
    };
    const Json document = object(
        {{"type", "document"},
         {"source", which % 3 == 0
                        ? object({{"type", "content"}, {"content", list({image(any)})}})
                        : object({{"type", "base64"},
                                  {"media_type", which % 3 == 1 ? "application/pdf" : "text/plain"},
                                  {"data", base64(any)}})}});
    return object({{"max_tokens", 4}, {"messages", message(list({image(picture), document}))}});
  }
  if (path == "/api/chat") {
    return object(
        {{"messages", list({object({{"role", "user"},
                                    {"content", "a"},
                                    {"images", list({base64(picture), base64(any)})}})})}});
  }
  if (path == "/api/generate")
    return object({{"prompt", "a"}, {"images", list({base64(picture), base64(any)})}});
  if (ends("/completion") || ends("/completions")) {
    const std::string marks = api::media_marker() + "a" + api::media_marker();
    return object(
        {{"prompt", object({{"prompt_string", marks},
                            {"multimodal_data", list({base64(picture), base64(any)})}})}});
  }
  if (ends("/transcriptions")) return object({{"file", std::string(any)}});
  return {};
}

}  // namespace puna::fuzz
