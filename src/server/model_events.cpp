#include "server/model_events.h"

#include <chrono>
#include <utility>

#include "api/exchange.h"

namespace puna::server {

using base::Json;

namespace {

// So soon the end of a server is seen here; each of so many times the client sees that it lives.
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr uint32_t kLooksAPing = 30;

// As llama.cpp's server calls what happens.
std::string_view name_of(api::ModelEvent::Kind kind) {
  using enum api::ModelEvent::Kind;
  switch (kind) {
    case kState:
      return "model_status";
    case kFetching:
      return "download_progress";
    case kFetched:
      return "download_finished";
    case kNotFetched:
      return "download_failed";
    case kRemoved:
      return "model_remove";
    case kOtherModels:
      return "models_reload";
  }
  return "";
}

}  // namespace

ModelEvents::ModelEvents(Core& core, std::shared_ptr<Responder> responder)
    : core_(core), responder_(std::move(responder)) {}

void ModelEvents::start(bool head_only) {
  responder_->begin({.content_type = "text/event-stream", .body = ""});
  if (head_only) return finish();
  api::ModelControl& control = *core_.models.load()->control();
  listening_ = control.listen([weak = weak_from_this(), responder = std::weak_ptr(responder_)](
                                  const api::ModelEvent& event) {
    const auto to = responder.lock();
    if (!to) return;
    to->post([weak, event] {
      if (const auto self = weak.lock()) self->write(event);
    });
  });
  responder_->ping_every(kBetweenLooks);
  for (const api::ModelStatus& each : core_.models.load()->list())
    write({.id = each.id, .state = each.state, .error = each.error});
}

void ModelEvents::write(const api::ModelEvent& event) {
  if (over_) return;
  // Who reads nothing for so long has to ask again.
  if (responder_->n_waiting() >= Responder::kMostWaiting) return finish();
  Json data = Json::object();
  if (event.kind == api::ModelEvent::Kind::kState) data.set("status", api::name_of(event.state));
  if (event.kind == api::ModelEvent::Kind::kFetching) data = api::files_json(event.files);
  if (!event.error.empty()) data.set("error", event.error);
  Json out = Json::object();
  out.set("model", event.id.empty() ? Json() : Json(event.id));
  out.set("event", name_of(event.kind));
  responder_->write(api::sse(out.set("data", std::move(data))));
}

void ModelEvents::quiet() {
  if (over_) return;
  if (core_.draining) return finish();
  if (++n_quiet_ % kLooksAPing == 0) responder_->write(": ping\n\n");
}

void ModelEvents::leave() {
  over_ = true;
  listening_.reset();
}

void ModelEvents::finish() {
  if (over_) return;
  leave();
  responder_->finish();
}

}  // namespace puna::server
