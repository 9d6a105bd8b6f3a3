#include "api/llama/settings.h"

#include "api/sampling.h"

namespace puna::api::llama {

using base::Json;

Json settings_json(const service::Request& request, bool stream) {
  Json out = sampling_json(request.sampling);
  const Json most = request.max_tokens ? Json(*request.max_tokens) : Json(-1);
  out.set("n_predict", most).set("max_tokens", most);
  Json stops = Json::array();
  for (const std::string& stop : request.stop) stops.push(stop);
  out.set("stop", std::move(stops)).set("ignore_eos", request.ignore_end);
  // Of a stage of sampling that there is not: it is off.
  out.set("adaptive_target", -1).set("adaptive_decay", 0.9);
  return out.set("stream", stream);
}

}  // namespace puna::api::llama
