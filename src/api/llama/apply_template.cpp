#include "api/llama/apply_template.h"

#include "api/media.h"
#include "api/openai/chat_request.h"
#include "service/prepare.h"

namespace puna::api::llama {

base::Result<Exchange> apply_template(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(openai::Chat chat, openai::read_chat(call.body, model));
  // /completion takes the text again, with the files beside it.
  service::Request& request = chat.answer.request;
  for (auto one = request.media.rbegin(); one != request.media.rend(); ++one)
    request.messages[one->message].content.insert(one->at, media_marker());
  request.media.clear();
  PUNA_TRY(const std::string prompt, service::render_prompt(model, request));
  return HttpReply::json(base::Json::object().set("prompt", prompt));
}

}  // namespace puna::api::llama
