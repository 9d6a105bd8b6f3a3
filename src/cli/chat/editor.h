// A text that is written in the user's editor.
#pragma once

#include <string>

#include "base/result.h"

namespace puna::cli {

// Opens PUNA_EDITOR, OLLAMA_EDITOR, VISUAL, EDITOR or vi, whichever is set first, with the text in
// a file that only the user can read, waits, and gives what the file then holds, without newlines
// at its end. Errors: kIo where the file cannot be made or read, or the editor fails.
base::Result<std::string> edit_text(const std::string& text);

}  // namespace puna::cli
