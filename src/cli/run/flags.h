// The flags of puna run, and what they are for a model in this process and for a server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/chat/chat_model.h"
#include "cli/form_flags.h"
#include "cli/model_flags.h"
#include "cli/prompt_media.h"
#include "kernels/sample/sampling.h"
#include "service/defaults.h"

namespace puna::cli {

struct RunFlags {
  ModelFlags model;
  std::optional<std::string> prompt;
  std::string system;
  std::optional<std::string> tokens;
  kernels::SamplingParams sampling;
  std::vector<std::string> logit_bias;  // ID=V
  std::optional<uint64_t> seed;
  std::optional<int64_t> max_tokens;
  std::vector<std::string> stop;
  FormFlags form;
  PromptMedia media;
  bool raw = false;
  std::optional<std::string> template_path;  // a file whose template stands in place of the model's
  bool stats = false;
  bool output_tokens = false;
  bool ignore_end = false;
  std::string think;  // "" leaves it to the template
  bool hides_thinking = false;
  bool no_word_wrap = false;
  std::string host;        // "" leaves it to the environment
  bool local = false;      // no server is asked
  std::string keep_alive;  // "" leaves it to the server
  // Found when they are read:
  std::vector<std::string> given;  // names of the options on the command line
};

void add_run_flags(CLI::App& app, RunFlags& flags);

// Reads values that are texts, and refuses flags that would have no effect. `chat`: nothing is
// asked yet. Errors: kUsage.
base::Result<void> check(RunFlags& flags, bool chat);

// What a request begins as in this process; what flags do not say is as the model has it.
service::Request request_of(const RunFlags& flags, const service::Defaults& defaults);
// The same as options of Ollama's dialect: what the command line says, and no more.
base::Json options_of(const RunFlags& flags);
service::Think think_of(const RunFlags& flags);

// The first option on the command line that needs the model in this process; empty: there is none.
std::string own_option(const RunFlags& flags);

}  // namespace puna::cli
