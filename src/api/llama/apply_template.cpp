#include "api/llama/apply_template.h"

#include "api/openai/chat_request.h"
#include "service/prepare.h"

namespace puna::api::llama {

base::Result<Exchange> apply_template(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const openai::Chat chat, openai::read_chat(call.body, model));
  PUNA_TRY(const std::string prompt, service::render_prompt(model, chat.answer.request));
  return HttpReply::json(base::Json::object().set("prompt", prompt));
}

}  // namespace puna::api::llama
