// A model ready for requests: its engine, its tokenizer and its chat template. open.h finds it by
// name and picks the device; a page brings both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "chat/template.h"
#include "engine/engine.h"
#include "engine/scheduler.h"
#include "formats/model_file.h"
#include "service/abilities.h"
#include "service/answer_form.h"
#include "service/defaults.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

class Senses;

struct LoadedModel {
  std::string name;               // as asked for
  std::string device_name;        // "NVIDIA H200", "CPU (avx512_vnni)"
  std::vector<std::string> gpus;  // as DeviceUse has them
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::Scheduler> scheduler;  // of the engine
  // Null when the file has no vocabulary, or one that cannot be used; tokenizer_error says which.
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::optional<base::Error> tokenizer_error;
  // None for base models, and for one that cannot be parsed; template_error says why.
  std::optional<chat::Template> chat_template;
  std::optional<base::Error> template_error;
  std::unique_ptr<AnswerForms> forms;  // null without a tokenizer
  Abilities abilities;                 // of the template
  Defaults defaults;                   // of requests
  std::shared_ptr<Senses> senses;      // null: it takes texts alone

  uint32_t context() const { return engine->context(); }
  // Lets waiting tasks go on; for base::run_until.
  void poll() { engine->poll(); }
};

// The model's tokenizer. Errors: kUnsupported and kCorrupt saying why there is none.
base::Result<const tokenizer::Tokenizer*> tokenizer_of(const LoadedModel& model);

// The model's chat template. Errors: kUnsupported when there is none, those of Template::parse.
base::Result<const chat::Template*> template_of(const LoadedModel& model);

// Puts a template in the place of the model's.
void use_template(LoadedModel& model, chat::Template chat_template);

// The tokenizer of a file, whose vocabulary it takes. Errors: kUnsupported, kCorrupt.
base::Result<std::unique_ptr<tokenizer::Tokenizer>> open_tokenizer(formats::ModelFile& file);

// A device to load onto; a null device is the CPU.
struct DeviceUse {
  std::shared_ptr<gpu::Device> device;
  std::string name;  // "NVIDIA H200", "CPU (avx512_vnni)"
  std::string why;
  // Opens further GPUs, as engine::MoreGpus has it; null: there are none.
  std::function<base::Result<engine::MoreGpus::Devices>()> open_more = {};
  // What --device calls it and those that open_more opens, in the order of engine::Stage::device:
  // cards of one name are told apart by these. Empty: it is the CPU, or in no list of devices.
  std::vector<std::string> gpus = {};
};

// `defaults`: of requests, where the file says nothing. Errors: those of engine::Engine::load.
base::Task<base::Result<LoadedModel>> load(std::string name, formats::ModelFile file, DeviceUse use,
                                           engine::EngineOptions options, Defaults defaults = {});

}  // namespace puna::service
