// The grammar of a Modelfile: text to commands and back. What the commands mean is modelfile.cpp's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::store {

struct ModelfileCommand {
  int line = 1;          // on which it begins
  std::string name{};    // in small letters
  std::string detail{};  // the name of a parameter, the role of a message
  std::string value{};   // without quotes

  bool operator==(const ModelfileCommand&) const = default;
};

// "(line 3): ...", as ollama writes it.
std::unexpected<base::Error> fail_at_line(int line, base::ErrorCode code, std::string_view what);

// UTF-8 of a file in UTF-8 or, behind a byte order mark, UTF-16; CR LF as LF where all lines end
// so. Errors: kInvalidArgument with the line for what is neither, and for NUL.
base::Result<std::string> decode_modelfile(std::string_view bytes);

// The commands of decoded text. Errors: kInvalidArgument with the line.
base::Result<std::vector<ModelfileCommand>> read_commands(std::string_view text);

// Whether a command can be read that has this detail: of a parameter or message of a stored model
// it is whatever its maker wrote, further commands too.
bool has_readable_detail(const ModelfileCommand& command);

// The lines that read_commands() reads as this command. Errors: kUnsupported for a detail or value
// that cannot be written.
base::Result<std::string> write_command(const ModelfileCommand& command);

}  // namespace puna::store
