#include "api/ollama/details.h"

#include <fmt/format.h>

#include "api/llama/fim.h"
#include "api/ollama/time.h"
#include "api/openai/models.h"
#include "chat/parsers.h"

namespace puna::api::ollama {

using base::Json;

namespace {

// The pairs of a GGUF file are known as they stand in it.
std::string_view format_of(const formats::ModelFile& file) {
  return file.stored_metadata.empty() ? "safetensors" : "gguf";
}

}  // namespace

std::string tagged(std::string_view name) {
  const size_t slash = name.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? name : name.substr(slash + 1);
  return std::string(name) + (last.find(':') == std::string_view::npos ? ":latest" : "");
}

uint64_t n_parameters(const service::LoadedModel& model) {
  uint64_t out = 0;
  for (const formats::Tensor& tensor : model.engine->file().tensors)
    out += tensor.rows() * tensor.columns();
  return out;
}

std::string parameter_size(uint64_t n_parameters) {
  const auto n = static_cast<double>(n_parameters);
  if (n >= 1e9) return fmt::format("{:.1f}B", n / 1e9);
  if (n >= 1e6) return fmt::format("{:.2f}M", n / 1e6);
  return n >= 1e3 ? fmt::format("{:.0f}K", n / 1e3) : fmt::to_string(n_parameters);
}

Json details_json(const service::LoadedModel& model) {
  const models::Config& config = model.engine->config();
  const std::string type = openai::file_type(model);
  Json out = Json::object();
  out.set("parent_model", "").set("format", format_of(model.engine->file()));
  out.set("family", config.architecture);
  out.set("families", Json::array().push(config.architecture));
  out.set("parameter_size", parameter_size(n_parameters(model)));
  out.set("quantization_level", type.empty() ? "unknown" : type);
  return out.set("context_length", config.context).set("embedding_length", config.hidden);
}

Json capabilities_json(const service::LoadedModel& model) {
  Json out = Json::array();
  if (model.engine->options().embeddings) return out.push("embedding");
  out.push("completion");
  if (llama::fim_tokens(model)) out.push("insert");
  if (model.abilities.tools) out.push("tools");
  const bool thinks =
      model.abilities.thinking ||
      (model.chat_template && !chat::reply_style(model.chat_template->source()).thinking.empty());
  if (thinks) out.push("thinking");
  return out;
}

std::string modified_at(const ServedModel& model) {
  return timestamp(std::chrono::system_clock::time_point(std::chrono::seconds(model.created)));
}

}  // namespace puna::api::ollama
