#include "cli/chat/dragged.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include "base/hex.h"
#include "media/decode.h"
#include "media/sound.h"

namespace puna::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using models::Sense;

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kFileScheme = "file://";
// What may follow a path in a sentence.
constexpr std::string_view kPunctuation = ".,;:!?)";

// The path of a file:// address of this machine.
std::string path_of_address(std::string_view address) {
  std::string_view rest = address.substr(kFileScheme.size());
  if (rest.starts_with("localhost/")) rest.remove_prefix(std::string_view("localhost").size());
  return base::percent_decoded(rest);
}

std::string whole_path(std::string path) {
  if (path.starts_with(kFileScheme)) return path_of_address(path);
  const char* const home = std::getenv("HOME");
  if (path.starts_with("~/") && home) return home + path.substr(1);
  return path;
}

// By what the file begins with; nothing for what is no file of a picture or sound.
std::optional<Sense> sense_of(const std::string& path) {
  std::error_code error;
  if (path.empty() || path.contains('\0') || !fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 256> first{};
  file.read(first.data(), first.size());
  const auto bytes = std::as_bytes(std::span(first).first(static_cast<size_t>(file.gcount())));
  if (!media::picture_format(bytes).empty()) return Sense::kPictures;
  if (!media::sound_format(bytes).empty()) return Sense::kSounds;
  return std::nullopt;
}

// A word of a message as a shell would read it.
struct Word {
  size_t end = 0;      // behind it in the message
  std::string text{};  // without quotes and backslashes
};

Word word_at(std::string_view message, size_t start) {
  Word out{.end = start};
  const char quote = message[start];
  if (quote == '\'' || quote == '"') {
    for (size_t i = start + 1; i < message.size(); ++i) {
      if (message[i] == quote) return {.end = i + 1, .text = std::move(out.text)};
      const bool escape = quote == '"' && message[i] == '\\' && i + 1 < message.size() &&
                          (message[i + 1] == '"' || message[i + 1] == '\\');
      out.text += message[escape ? ++i : i];
    }
    out.text.clear();  // a quote without its other half is text
  }
  size_t& i = out.end;
  for (; i < message.size() && kSpaces.find(message[i]) == std::string_view::npos; ++i) {
    if (message[i] == '\\' && i + 1 < message.size()) ++i;
    out.text += message[i];
  }
  return out;
}

struct Found {
  std::string path;
  Sense sense = Sense::kPictures;
  size_t end = 0;  // of what stands for it in the message
};

// The file that the word at `start` names, with or without punctuation behind it.
std::optional<Found> media_at(std::string_view message, size_t start) {
  Word word = word_at(message, start);
  // Names without a dot or a folder are words of the language.
  if (word.text.find_first_of("./") == std::string::npos) return std::nullopt;
  while (true) {
    std::string path = whole_path(word.text);
    if (const auto sense = sense_of(path)) return Found{std::move(path), *sense, word.end};
    if (word.text.empty() || kPunctuation.find(word.text.back()) == std::string_view::npos ||
        message[word.end - 1] != word.text.back())
      return std::nullopt;
    word.text.pop_back();
    --word.end;
  }
}

}  // namespace

Result<Dragged> take_dragged(std::string_view message, Senses senses) {
  Dragged out;
  std::string& text = out.text.text;
  for (size_t i = 0; i < message.size();) {
    if (kSpaces.find(message[i]) != std::string_view::npos) {
      text += message[i++];
      continue;
    }
    const auto found = media_at(message, i);
    const size_t end = found ? found->end : word_at(message, i).end;
    const bool picture = found && found->sense == Sense::kPictures;
    if (!found || (picture ? !senses.sees : !senses.hears)) {
      if (found) {
        out.notes.push_back(fmt::format("{} stays text: the model {}.", found->path,
                                        picture ? "sees no pictures" : "hears no sounds"));
      }
      text += message.substr(i, end - i);
    } else {
      PUNA_TRY(service::MediaFile file, service::read_media_file(found->path, found->sense));
      out.text.media.push_back(
          {.at = text.size(), .file = std::make_shared<const service::MediaFile>(std::move(file))});
      out.notes.push_back(fmt::format("{} goes with the message as a {}.", found->path,
                                      picture ? "picture" : "sound"));
    }
    i = end;
  }
  if (out.text.media.empty()) return out;
  // What is left of a line that had a path alone, or one at an end.
  const size_t last = text.find_last_not_of(kSpaces);
  text.resize(last == std::string::npos ? 0 : last + 1);
  const size_t first = std::min(text.find_first_not_of(kSpaces), text.size());
  text.erase(0, first);
  for (DraggedMedia& each : out.text.media)
    each.at = std::min(each.at - std::min(each.at, first), text.size());
  return out;
}

bool begins_with_media(std::string_view message) {
  const size_t start = message.find_first_not_of(kSpaces);
  return start != std::string_view::npos && media_at(message, start).has_value();
}

}  // namespace puna::cli
