// What requests mean where they say nothing: Puna's own values, before which those come that
// whoever runs a server has asked for (cli/serve/), before these what the model's file says, and
// before all of them what the Modelfile of a stored model says (modelfile.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "kernels/sample/sampling.h"
#include "service/request.h"

namespace puna::service {

struct Defaults {
  // What a request begins as. The seed is in `seed`.
  Request request;
  std::optional<uint64_t> seed;  // none: drawn for each request
  // Of conversations: what the model is told where they begin with no system message, and what
  // stands between that and their first message.
  std::string system;
  std::vector<chat::Message> messages;
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};
  // The fields of sampling ("top_p") that are not Puna's own values: dialects with other values of
  // their own leave these as they are.
  std::set<std::string, std::less<>> named;
  bool continues_last = true;  // a last message of the assistant is continued
  bool suffix_first = false;   // of a text to be written in between, before the prefix
  bool verbose = false;        // answers have all that there is to say of them (api/reports.h)
  int embedding_norm = 2;      // by which embeddings are divided; below 0: by none
};

// What a file says (general.sampling.*, as llama.cpp writes them), and where it says nothing
// `otherwise`. A value that cannot be used is left out with a warning.
Defaults defaults_of(const formats::ModelFile& file, Defaults otherwise = {});

// "top_k;temperature" as stages, each once; none: there is another name, or one twice.
std::optional<std::vector<kernels::Sampler>> samplers_named(std::string_view names);

}  // namespace puna::service
