// What becomes of models, as a stream that ends with its client or with the server:
//   data: {"model", "event": "model_status", "data": {"status", "error"?}}
//   data: {"model", "event": "download_progress", "data": {FILE: {"done", "total"}, ...}}
//   data: {"model", "event": "download_finished" | "model_remove", "data": {}}
//   data: {"model", "event": "download_failed", "data": {"error"}}
//   data: {"model": null, "event": "models_reload", "data": {}}
// Source: llama.cpp's server, README, "GET /models/sse". On the thread of the connection.
#pragma once

#include <cstdint>
#include <memory>

#include "api/model_source.h"
#include "server/core.h"
#include "server/wire.h"

namespace puna::server {

class ModelEvents : public std::enable_shared_from_this<ModelEvents> {
 public:
  // Of a core whose models come and go.
  ModelEvents(Core& core, std::shared_ptr<Responder> responder);

  // First the state of each model.
  void start(bool head_only);
  void quiet();
  // The client has left.
  void leave();
  void finish();

 private:
  void write(const api::ModelEvent& event);

  Core& core_;
  const std::shared_ptr<Responder> responder_;
  std::shared_ptr<void> listening_;
  uint32_t n_quiet_ = 0;
  bool over_ = false;
};

}  // namespace puna::server
