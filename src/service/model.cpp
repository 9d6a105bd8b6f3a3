#include "service/model.h"

#include <fmt/format.h>

#include <optional>

#include "base/beside.h"
#include "base/log.h"
#include "chat/built_in.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;
using formats::ModelFile;

namespace {

// Every id of a model that is to be run has a row of the embedding table.
Result<void> check_fits(const ModelFile& file, size_t n_tokens) {
  const formats::Tensor* table = file.find_tensor("token_embd.weight");
  if (table && n_tokens > table->rows()) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The vocabulary has {} tokens, but the embedding table has {} rows.", n_tokens,
                    table->rows()));
  }
  return {};
}

// The tokenizer of a model, made beside the loading of its weights, which is given no vocabulary.
class TokenizerBeside {
 public:
  explicit TokenizerBeside(ModelFile& file) {
    words_.name = file.name;
    words_.vocabulary_error = file.vocabulary_error;
    std::swap(words_.vocabulary, file.vocabulary);
    if (words_.vocabulary.tokens.empty()) return;
    if (Result<void> fits = check_fits(file, words_.vocabulary.tokens.size()); !fits) {
      made_ = std::unexpected(std::move(fits.error()));
      return;
    }
    work_.emplace([this] { made_ = open_tokenizer(words_); });
  }

  // Waits for it. Token ids can be used without one.
  void give(LoadedModel& model) {
    work_.reset();
    model.tokenizer_error = words_.vocabulary_error;  // said already
    if (!made_) return;
    if (*made_) {
      model.tokenizer = **std::move(made_);
      return;
    }
    base::Error& error = made_->error();
    error.context.push_back(fmt::format("While loading the vocabulary of {}", words_.name));
    base::log_warning("{} can be used with token ids only, not with texts: {}", words_.name,
                      error.text());
    model.tokenizer_error = std::move(error);
  }

 private:
  ModelFile words_;
  std::optional<Result<std::unique_ptr<tokenizer::Tokenizer>>> made_;
  std::optional<base::Beside> work_;
};

// What needs no template is not stopped by a faulty one.
void take_template(const ModelFile& file, LoadedModel& model) {
  Result<std::string> source = file.get_string("tokenizer.chat_template", "");
  if (source && source->empty()) return;
  // Files of RWKV hold the name of their template in its place.
  if (const auto* named = source ? chat::find_built_in(*source) : nullptr) source = named->source;
  auto parsed = source ? chat::Template::parse(*source) : std::unexpected(source.error());
  if (parsed) {
    use_template(model, *std::move(parsed));
  } else {
    model.template_error = std::move(parsed.error());
  }
}

}  // namespace

Result<std::unique_ptr<tokenizer::Tokenizer>> open_tokenizer(ModelFile& file) {
  if (file.vocabulary_error) return std::unexpected(*file.vocabulary_error);
  if (file.vocabulary.tokens.empty()) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The model {} has no vocabulary.", file.name));
  }
  return tokenizer::Tokenizer::create(std::move(file.vocabulary));
}

Result<const tokenizer::Tokenizer*> tokenizer_of(const LoadedModel& model) {
  if (model.tokenizer) return model.tokenizer.get();
  if (model.tokenizer_error) return std::unexpected(*model.tokenizer_error);
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The model {} has no vocabulary.", model.name));
}

Result<const chat::Template*> template_of(const LoadedModel& model) {
  if (model.chat_template) return &*model.chat_template;
  if (model.template_error) return std::unexpected(*model.template_error);
  return base::fail(
      ErrorCode::kUnsupported,
      fmt::format("The model {} has no chat template; it completes text only.", model.name));
}

void use_template(LoadedModel& model, chat::Template chat_template) {
  model.chat_template = std::move(chat_template);
  model.template_error.reset();
  model.abilities = find_abilities(*model.chat_template);
}

Task<Result<LoadedModel>> load(std::string name, ModelFile file, DeviceUse use,
                               engine::EngineOptions options, Defaults defaults) {
  LoadedModel model;
  model.name = std::move(name);
  TokenizerBeside tokenizer(file);
  take_template(file, model);
  model.defaults = defaults_of(file, std::move(defaults));
  model.device_name = use.name;
  model.gpus = std::move(use.gpus);
  base::log_info("Device: {} ({})", use.name, use.why);
  PUNA_CO_TRY(model.engine, co_await engine::Engine::load(std::move(file), std::move(use.device),
                                                          std::move(options)));
  tokenizer.give(model);
  model.scheduler = std::make_unique<engine::Scheduler>(*model.engine);
  if (model.tokenizer) {
    model.forms = std::make_unique<AnswerForms>(*model.tokenizer, model.engine->config().vocab);
  }
  const engine::Placement& placement = model.engine->placement();
  const std::string placed = describe(placement, model.device_name);
  if (!placed.empty()) {
    base::log_warning("{}", placed);
    for (const engine::Stage& stage : placement.stages) {
      if (stage.on_gpu && stage.device > 0) model.device_name += " + " + stage.device_name;
    }
    if (placement.layers_on(/*gpu=*/false) > 0 || placement.cpu_experts > 0)
      model.device_name += fmt::format(" + CPU ({})", kernels::cpu_variant());
  }
  base::log_info("Context: {} tokens", model.engine->context());
  co_return model;
}

}  // namespace puna::service
