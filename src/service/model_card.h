// What there is to say of a model before it is loaded, read off its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chat/template.h"
#include "formats/model_file.h"

namespace puna::service {

struct ModelCard {
  std::string format;  // "gguf", "safetensors"
  std::string family;  // its architecture: "llama"
  uint64_t n_parameters = 0;
  std::string file_type;                // "Q4_K_M"; empty where the file does not say
  uint64_t context = 0, embedding = 0;  // tokens it was trained with, and its width; 0: not said
  // "completion", "insert", "tools", "thinking"; or "embedding" alone.
  std::vector<std::string> capabilities;
};
// `chat_template`: of the model, or what stands in its place; null: it has none.
ModelCard card_of(const formats::ModelFile& file, const chat::Template* chat_template);

// All weights.
uint64_t n_parameters(const formats::ModelFile& file);
// "361.82M", "3.2B".
std::string parameter_size(uint64_t n_parameters);
// "Q4_K_M"; empty where the file does not say.
std::string file_type_of(const formats::ModelFile& file);
// The pairs of a GGUF file are known as they stand in it.
std::string format_of(const formats::ModelFile& file);
// A number that files have under the name of their architecture; 0: this one has none.
uint64_t number_of(const formats::ModelFile& file, std::string_view key);

// A template as Modelfiles have it: Jinja where it has a block of that, "{%", which Go's templates
// have no meaning for; else Go's text/template, which is translated (chat/go_template.h). Errors:
// those of either.
base::Result<chat::Template> any_template(std::string text);

}  // namespace puna::service
