// A Modelfile: what a model is made of, as ollama's users write it down. Its grammar is ollama's:
// one command a line, names of any case in any order, # comments, values that "..." or """..."""
// hold together over lines. Read next: modelfile_parameters.h and modelfile_syntax.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::store {

struct ModelfileMessage {
  std::string role{};  // "system", "user" or "assistant"
  std::string content{};

  bool operator==(const ModelfileMessage&) const = default;
};

struct Modelfile {
  std::vector<std::string> from{};  // a model, folder or file; further ones are projectors
  base::Json parameters = base::Json::object();  // by name; `stop` is a list
  std::optional<std::string> chat_template{};    // TEMPLATE: Go's text/template
  std::optional<std::string> system{};
  std::vector<ModelfileMessage> messages{};
  std::vector<std::string> licenses{};
  std::string minimal_version{};  // REQUIRES: of ollama, without a "v"; empty: any
  std::string renderer{};  // RENDERER and PARSER by ollama's names, see model_family(); or empty
  std::string parser{};

  bool operator==(const Modelfile&) const = default;
};

struct ParsedModelfile {
  Modelfile modelfile{};
  std::vector<std::string> warnings{};  // "(line 3): ..."
};

// UTF-8, or UTF-16 behind a byte order mark. A file whose lines all end with CR LF is read as if
// they ended with LF. A command that is given again takes the place of the one before, with a
// warning, but for FROM, LICENSE, MESSAGE and `stop`, which add up. Errors, with "(line 3): "
// before them, in ollama's words where it has some: kInvalidArgument; kUnsupported for ADAPTER,
// DRAFT and for renderers and parsers that Puna has no family for.
base::Result<ParsedModelfile> parse_modelfile(std::string_view text);

// The text that parse_modelfile() reads as `modelfile`, in ollama's order and with its quoting.
// Errors: kUnsupported, naming the command, for what the grammar has no way to write: a value with
// several lines of which one ends in quotes of either kind, the name of a parameter with other
// characters than letters, digits and '_', a role that is none of the three.
base::Result<std::string> write_modelfile(const Modelfile& modelfile);

// What a store keeps of a model, by layer; the texts are those of the layers.
struct ModelParts {
  std::string name{};                      // "smollm2:latest"
  std::vector<std::string> model_paths{};  // the model, then its projectors
  std::optional<std::string> chat_template{}, system{};
  std::string parameters{}, messages{};  // JSON, or empty where there is no such layer
  std::vector<std::string> licenses{};
  std::string minimal_version{}, renderer{}, parser{};  // of the config
};

// The same as a Modelfile. What is unknown here of another store's parts is as it is there. Errors:
// kCorrupt for layers that are no JSON of their kind.
base::Result<Modelfile> modelfile_of(const ModelParts& parts);

// The Modelfile of a model that is there, as `show --modelfile` prints it: a comment on how to
// build on it, then its parts. Parameters and messages whose name or role cannot be written are
// left out, with a comment. Errors: those of modelfile_of() and, of values, of write_modelfile().
base::Result<std::string> show_modelfile(const ModelParts& parts);

// ollama's names of renderers and parsers, and the style of replies (chat/parsers.h) that each is.
// The prompt is made by the model's own template in place of a renderer.
struct ModelFamily {
  std::string_view name;                  // "qwen3-coder"
  std::string_view style;                 // "qwen-xml"
  bool renderer = false, parser = false;  // as what ollama knows the name
};
std::span<const ModelFamily> model_families();

}  // namespace puna::store
