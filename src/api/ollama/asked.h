// What chats and completions of Ollama's dialect have in common: fields beside the prompt, and
// whether a prompt fits. Read next: options.h, writer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "api/exchange.h"
#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::api::ollama {

// A body, which has to name a model. Errors: kInvalidArgument "missing request body", "model is
// required" and "top_logprobs must be between 0 and 20"; those of Body::read().
base::Result<Body> read_body(const base::Json& json, FieldTables tables);

// The name of the stored model: `model`, or else `name`, as it was called before; Ollama's own Go
// client sends both, one of them empty. Errors: kInvalidArgument "model is required".
base::Result<std::string> model_name(const Body& body);

// To be read with what endpoints have beside it.
std::span<const Field> asked_fields();

struct Asked {
  std::string model;         // as the client calls it, which is how answers call it
  service::Request request;  // sampling, length, ends and thinking; what is answered is not in it
  bool stream = true;
  bool truncate = false;
  bool unload = false;                   // keep_alive is 0
  std::optional<uint32_t> num_ctx;       // of the options
  std::optional<uint32_t> top_logprobs;  // none: without probabilities
  double load_ms = 0;                    // that it has waited for the model
};
// `call` has its model. Errors: those of the fields; kUnsupported for what the model cannot do:
// thinking, levels of it.
base::Result<Asked> read_asked(const Body& body, const Call& call);

// A Before (exchange.h): where a request of a chat or a completion has nothing to be answered and
// keep_alive 0, its model goes when it is idle, and is not loaded for that. Errors: those of
// ModelControl::unload() but for one that is not loaded; those of the fields.
base::Result<std::optional<HttpReply>> unload(const Call& call);

// `"x" does not support chat`.
std::unexpected<base::Error> does_not_support(std::string_view model, std::string_view what);

// Sees to it that prompt and answer of a request keep to num_ctx. With `truncate` the oldest turns
// of a chat are left out until the prompt fits, each as a whole: from a message of the user up to
// the next. What is there of the role "system", tools and the last turn stay. Gives how many tokens
// were left out. Errors: kInvalidArgument with both numbers for a prompt that does not fit; those
// of service::prompt_tokens().
base::Result<uint32_t> fit(Asked& asked, const service::LoadedModel& model);

}  // namespace puna::api::ollama
