// Prompts as they come from outside: a text, token ids, both mixed, or a list of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::api {

struct Prompt {
  std::optional<std::string> text;            // as it came; none: ids, or a mixture of both
  std::vector<int32_t> tokens;                // where there is no text
  std::vector<service::PlacedMedia> media{};  // in the text
};
// Of a field with a prompt or a list of such (shape.h).
constexpr std::string_view kPromptsShape =
    R"(["string", {"prompt_string": "string", "multimodal_data?": ["string"]}, {"content": [{"type": "=text", "text": "string"}]},
        ["+", ["integer", "string", {"prompt_string": "string", "multimodal_data?": ["string"]},
          {"content": [{"type": "=text", "text": "string"}]}, ["+", ["integer", "string"]]]]])";
struct Prompts {
  std::vector<Prompt> list;  // at least one
  bool one = false;          // it did not come as a list of prompts
};

// A text; a list of ids; a list of ids and texts, which is one prompt: only a text at its beginning
// gets what texts begin with; {"prompt_string": text, "multimodal_data": files in base64}, whose
// text has a media_marker() for each file; {"content": parts} as messages have it, of texts; or a
// list of such. Errors: kInvalidArgument naming the field, for nothing, ids outside the vocabulary,
// more than `most`, and as many markers as there are no files; kUnsupported for texts where the
// model has no vocabulary.
base::Result<Prompts> read_prompts(std::string_view field, const base::Json* value,
                                   const service::LoadedModel& model, size_t most);

// The request with a prompt in it.
service::Request with_prompt(service::Request request, Prompt prompt);
// The ids of a prompt; of the empty text what texts begin with, if anything. Errors: those of
// tokenizer_of() where it is a text; kUnsupported for media.
base::Result<std::vector<int32_t>> tokens_of(const Prompt& prompt,
                                             const service::LoadedModel& model);
// The text of a prompt; of ids, what they are the tokens of.
std::string text_of(const Prompt& prompt, const service::LoadedModel& model);

}  // namespace puna::api
