#include "api/ollama/details.h"

#include "api/llama/fim.h"
#include "api/ollama/time.h"
#include "chat/parsers.h"

namespace puna::api::ollama {

using base::Json;

std::string tagged(std::string_view name) {
  const size_t slash = name.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? name : name.substr(slash + 1);
  return std::string(name) + (last.find(':') == std::string_view::npos ? ":latest" : "");
}

Json details_json(const service::ModelCard& card) {
  Json out = Json::object();
  out.set("parent_model", "").set("format", card.format);
  out.set("family", card.family).set("families", Json::array().push(card.family));
  out.set("parameter_size", service::parameter_size(card.n_parameters));
  out.set("quantization_level", card.file_type.empty() ? "unknown" : card.file_type);
  return out.set("context_length", card.context).set("embedding_length", card.embedding);
}

Json capabilities_json(const service::ModelCard& card) {
  Json out = Json::array();
  for (const std::string& each : card.capabilities) out.push(each);
  return out;
}

service::ModelCard card_of(const service::LoadedModel& model) {
  const models::Config& config = model.engine->config();
  const formats::ModelFile& file = model.engine->file();
  service::ModelCard out{.format = service::format_of(file),
                         .family = config.architecture,
                         .n_parameters = service::n_parameters(file),
                         .file_type = service::file_type_of(file),
                         .context = config.context,
                         .embedding = config.hidden,
                         .capabilities = {}};
  if (model.engine->options().embeddings) {
    out.capabilities = {"embedding"};
    return out;
  }
  out.capabilities = {"completion"};
  if (llama::fim_tokens(model)) out.capabilities.emplace_back("insert");
  if (model.abilities.tools) out.capabilities.emplace_back("tools");
  const bool thinks =
      model.abilities.thinking ||
      (model.chat_template && !chat::reply_style(model.chat_template->source()).thinking.empty());
  if (thinks) out.capabilities.emplace_back("thinking");
  return out;
}

std::string modified_at(int64_t unix_s) {
  return timestamp(std::chrono::system_clock::time_point(std::chrono::seconds(unix_s)));
}

}  // namespace puna::api::ollama
