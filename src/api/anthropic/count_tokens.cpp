#include "api/anthropic/count_tokens.h"

#include "api/anthropic/request.h"
#include "service/prepare.h"

namespace puna::api::anthropic {

base::Result<Exchange> count_tokens(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const service::Request request, read_counted_request(call.body, model));
  PUNA_TRY(const std::vector<int32_t> tokens, service::prompt_tokens(model, request));
  return HttpReply::json(base::Json::object().set("input_tokens", tokens.size()));
}

}  // namespace puna::api::anthropic
