// Paths of pictures and sounds in a message, typed or dragged onto the terminal: 'quoted',
// "quoted", with\ escaped\ spaces, or as file:// addresses, as terminals paste them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/media_file.h"

namespace puna::cli {

struct DraggedMedia {
  size_t at = 0;  // before this byte of the text
  std::shared_ptr<const service::MediaFile> file;
};

struct DraggedText {
  std::string text;  // without the paths
  std::vector<DraggedMedia> media;
};

// What the model takes.
struct Senses {
  bool sees = false, hears = false;
};

struct Dragged {
  DraggedText text;
  std::vector<std::string> notes;  // a sentence for each path: what became of it
};

// A path is taken where a file is there that begins as a picture or sound does, and the model has
// the sense for it; everything else stays text. Errors: those of service::read_media_file().
base::Result<Dragged> take_dragged(std::string_view message, Senses senses);

// Whether the first word is the path of a picture or sound: no command is.
bool begins_with_media(std::string_view message);

}  // namespace puna::cli
