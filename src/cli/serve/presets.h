// What is set for some models alone, as a file that llama-server's router reads too:
//   version = 1
//   [*]                 for all
//   ctx-size = 8192
//   [coder]             a model by that name; `model` says which, where none has it
//   model = /models/coder.gguf
//   load-on-startup = true
// Keys are names of flags, without hyphens before them, or their LLAMA_ARG_* variables; lines that
// begin with ; or # say nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/serve/flags.h"

namespace puna::cli::serve {

struct Preset {
  std::string name;  // "*": of all models
  GivenFlags given;
  std::string lines;  // "ctx-size = 8192\n…"
  bool load_at_start = false;
};

struct Presets {
  GivenFlags common;           // of [*]
  std::vector<Preset> models;  // in their order
  std::vector<std::string> notes;

  // Null: nothing is set for it alone.
  const Preset* find(std::string_view name) const;
};

// Errors: kUsage with the line, for what is no flag of a model, and for values that it cannot have.
base::Result<Presets> parse_presets(std::string_view text);
// Errors: also kIo.
base::Result<Presets> read_presets(const std::string& path);

}  // namespace puna::cli::serve
