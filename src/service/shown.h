// A model that is looked at and not loaded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "service/find_encoder.h"
#include "service/model_card.h"
#include "service/model_texts.h"
#include "store/modelfile.h"
#include "store/store.h"

namespace puna::service {

struct ShownModel {
  std::string name{};                          // "smollm2:latest", or a path
  std::optional<store::StoredModel> stored{};  // none for a path
  store::ModelParts parts{};
  store::Modelfile modelfile{};  // the same parts, read
  formats::ModelFile file{};
  // Beside it; none where it has none that can be used, of which a warning tells.
  std::optional<FoundEncoder> encoder{};
  ModelCard card{};             // with "vision" and "audio" where there is an encoder
  std::string chat_template{};  // of the Modelfile, or else of the file
};

// A model by its name. Errors: those of Store::find() and of opening; kCorrupt.
base::Result<ShownModel> show_stored(const store::StoredModel& model);
// The same of a name or, where there is one, of a path. Errors: also those of Store::resolve();
// kNotFound for what has to be pulled first.
base::Result<ShownModel> show_model(std::string_view name);

// What it says of itself; `from` is what its Modelfile says that it is made of. Errors: kCorrupt;
// kUnsupported for what no Modelfile can say.
base::Result<ModelTexts> texts_of(const ShownModel& model, std::vector<std::string> from);

// Parameters a line each, as ollama shows them: names, then values; stop texts in quotes.
std::string parameters_text(const base::Json& parameters);

}  // namespace puna::service
