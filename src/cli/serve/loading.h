// How a model is loaded that flags describe: what there is to say to the engine, and what requests
// mean where they say nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/model_source.h"
#include "base/result.h"
#include "cli/serve/flags.h"
#include "cli/terminal.h"
#include "formats/model_file.h"
#include "service/find_encoder.h"
#include "service/open.h"
#include "service/replicas.h"

namespace puna::cli::serve {

// "models/Tiny-q4_0.gguf" is "Tiny-q4_0", and the folder "models/Tiny/" is "Tiny": no client is
// told where it lies.
std::string name_of_path(std::string model);

// The names that flags give the model, or its file's, sorted; the first is its id.
std::vector<std::string> aliases_of(const ServeFlags& flags);

// With what requests mean where they say nothing. `bar` outlives the load. Errors: kUsage.
base::Result<service::OpenOptions> options_of(const ServeFlags& flags, ProgressBar& bar);
// Whether flags say how many tokens texts have room for.
bool asks_for_room(const ServeFlags& flags);
// What depends on the file: room, and whether it is of a model for embeddings.
void fit_to_file(const ServeFlags& flags, const formats::ModelFile& file,
                 engine::EngineOptions& options);
// Which encoder is asked for.
service::EncoderWish encoder_wish(const ServeFlags& flags);
// The encoder of the model that `name` stands for, whose file it is. Errors: those of
// service::find_encoder().
base::Result<void> find_mmproj(const ServeFlags& flags, const std::string& name,
                               const formats::ModelFile& file, service::OpenOptions& options);
// Once it is loaded: template, thinking, and what is said of flags that have no effect on it.
// Errors: those of a form or of sampling that this model cannot have.
base::Result<void> finish(const ServeFlags& flags, service::LoadedModel& model);

// All of it for the one model that the flags name, each replica of it. Errors: those of loading.
base::Result<std::vector<service::LoadedModel>> load(const ServeFlags& flags);
api::ServedModel served_model(const ServeFlags& flags,
                              const std::shared_ptr<service::Hosts>& hosts);

}  // namespace puna::cli::serve
