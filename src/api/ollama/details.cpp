#include "api/ollama/details.h"

#include "api/ollama/time.h"

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

std::string modified_at(int64_t unix_s) {
  return timestamp(std::chrono::system_clock::time_point(std::chrono::seconds(unix_s)));
}

}  // namespace puna::api::ollama
