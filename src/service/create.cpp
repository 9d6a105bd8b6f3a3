#include "service/create.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/thread_pool.h"
#include "formats/quantize.h"
#include "service/model_card.h"
#include "service/quantize_type.h"
#include "service/weight_source.h"
#include "store/files.h"

namespace puna::service {

using base::ErrorCode;
using base::Json;
using base::Result;
using store::NewLayer;
using store::Store;

namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

class Creation {
 public:
  Creation(const Store& store, const CreateRequest& request, const CreateOptions& options)
      : store_(store), request_(request), options_(options) {}

  Result<void> run() {
    PUNA_TRY(model_.name, store_.free_name(request_.name));
    std::optional<chat::Template> chat_template;
    if (request_.modelfile.chat_template) {
      PUNA_TRY_CONTEXT(chat_template, any_template(*request_.modelfile.chat_template),
                       "While reading the template");
    }
    formats::QuantizeOptions type;
    if (!request_.quantize.empty()) {
      PUNA_TRY(type, parse_type(request_.quantize));
    }
    PUNA_TRY_CONTEXT(store_.layout().prepare(),
                     "While making the store; PUNA_HOME names another folder for it");
    PUNA_TRY(WeightSource source, find_weights(store_, request_, options_));
    PUNA_TRY(go_on());
    said_ = merged(source.said);
    if (!chat_template) chat_template = template_of(source);
    const ModelCard card = card_of(source.model, chat_template ? &*chat_template : nullptr);
    std::string file_type = card.file_type;
    if (type.mix || source.parts.empty()) {
      PUNA_TRY(file_type, write_weights(store::kModelType, source.model, type));
    } else {
      for (const WeightFile& part : source.parts) PUNA_TRY(add_file(store::kModelType, part));
    }
    for (const WeightFile& each : source.projectors) {
      PUNA_TRY(add_file(store::kProjectorType, each));
    }
    if (source.encoder) PUNA_TRY(write_weights(store::kProjectorType, *source.encoder, {}));
    add_texts();
    const std::string parameters = parameter_size(card.n_parameters);
    model_.config = {.family = card.family,
                     .parameters = parameters,
                     .file_type = file_type.empty() ? "unknown" : std::string_view(file_type),
                     .renderer = said_.renderer,
                     .parser = said_.parser,
                     .minimal_version = said_.minimal_version};
    PUNA_TRY(store::put_model(
        store_.layout(), std::move(model_),
        [&](const std::string& status, uint64_t done_bytes, uint64_t total_bytes) {
          count(status, done_bytes, total_bytes);
        },
        [&] { return go_on(); }));
    tell("success");
    return {};
  }

 private:
  void tell(std::string status) const { options_.progress({.status = std::move(status)}); }

  // Of bytes that are counted from 0: a line now and then.
  void count(const std::string& status, uint64_t done_bytes, uint64_t total_bytes) {
    constexpr uint64_t kBetweenLines = 64 << 20;
    if (done_bytes > 0 && done_bytes < next_told_) return;
    options_.progress({.status = status, .total_bytes = total_bytes, .done_bytes = done_bytes});
    next_told_ = done_bytes + kBetweenLines;
  }

  Result<void> go_on() const {
    const bool cancelled = options_.cancel && options_.cancel->load(std::memory_order_relaxed);
    if (!cancelled) return {};
    return base::fail(ErrorCode::kCancelled,
                      fmt::format("The making of {} was cancelled.", request_.name));
  }

  // The Modelfile that the new model has.
  store::Modelfile merged(const store::Modelfile& base) const {
    store::Modelfile out = base;
    const store::Modelfile& asked = request_.modelfile;
    if (asked.chat_template) out.chat_template = asked.chat_template;
    if (asked.system) out.system = asked.system;
    if (!asked.messages.empty()) out.messages = asked.messages;
    for (const std::string& license : asked.licenses) {
      if (std::ranges::find(out.licenses, license) == out.licenses.end())
        out.licenses.push_back(license);
    }
    for (const auto& [name, value] : asked.parameters.members()) out.parameters.set(name, value);
    if (!asked.minimal_version.empty()) out.minimal_version = asked.minimal_version;
    if (!asked.renderer.empty()) out.renderer = asked.renderer;
    if (!asked.parser.empty()) out.parser = asked.parser;
    return out;
  }

  // That of the model, for what its config says; one that cannot be read stops nothing here.
  std::optional<chat::Template> template_of(const WeightSource& source) const {
    const std::string own = source.model.get_string("tokenizer.chat_template", "").value_or("");
    if (!said_.chat_template && own.empty()) return std::nullopt;
    Result<chat::Template> parsed =
        said_.chat_template ? any_template(*said_.chat_template) : chat::Template::parse(own);
    return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
  }

  // The model, or its encoder, again as one GGUF file; returns its type.
  Result<std::string> write_weights(std::string_view media_type, formats::ModelFile& model,
                                    formats::QuantizeOptions type) {
    uint64_t bytes = 0;
    for (const formats::TensorPlan& plan : formats::plan_tensors(model, type)) bytes += plan.bytes;
    PUNA_TRY(store::check_space(store_.layout().blobs(), request_.name, bytes));
    const std::string before = file_type_of(model);
    const std::string status =
        type.mix ? fmt::format("quantizing {} model to {}", before.empty() ? "the" : before,
                               upper(type.mix->name))
                 : "converting model";
    PUNA_TRY(auto out, store::BlobFile::create(store_.layout()));
    base::ThreadPool pool(request_.n_threads);
    const auto show = [&](const formats::QuantizeProgress& progress) {
      options_.progress({.status = status,
                         .total_bytes = progress.total_bytes,
                         .done_bytes = progress.done_bytes});
      return go_on().has_value();
    };
    PUNA_TRY(base::run_until(formats::quantize(model, type, *out, pool, show), [] {}));
    model_.layers.push_back(NewLayer::of_file(media_type, std::move(out)));
    return type.mix ? upper(type.mix->name) : before;
  }

  Result<void> add_file(std::string_view media_type, const WeightFile& file) {
    if (file.is_own) {
      store::Layer layer = *file.layer;
      layer.media_type = media_type;
      model_.layers.push_back({.layer = std::move(layer)});
      return {};
    }
    const auto total = static_cast<uint64_t>(std::max<int64_t>(store::file_bytes(file.path), 0));
    PUNA_TRY(store::check_space(store_.layout().blobs(), request_.name, total));
    PUNA_TRY(auto out, store::BlobFile::create(store_.layout()));
    PUNA_TRY(store::read_pieces(file.path, [&](std::span<const std::byte> piece) -> Result<void> {
      PUNA_TRY(go_on());
      count("copying model", out->bytes(), total);
      return out->write(piece);
    }));
    PUNA_TRY(out->finish());
    if (file.layer && out->digest() != file.layer->digest) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("The SHA-256 of {} is {}; the file is damaged.", file.path,
                                    out->digest().hex()));
    }
    model_.layers.push_back(NewLayer::of_file(media_type, std::move(out)));
    return {};
  }

  void add_texts() {
    const auto add = [&](std::string_view media_type, std::string text) {
      model_.layers.push_back(NewLayer::of_text(media_type, std::move(text)));
    };
    if (said_.chat_template) add(store::kTemplateType, *said_.chat_template);
    if (said_.system) add(store::kSystemType, *said_.system);
    if (!said_.parameters.members().empty()) add(store::kParametersType, said_.parameters.dump());
    if (!said_.messages.empty()) {
      Json list = Json::array();
      for (const store::ModelfileMessage& each : said_.messages)
        list.push(Json::object().set("role", each.role).set("content", each.content));
      add(store::kMessagesType, list.dump());
    }
    for (const std::string& license : said_.licenses) add(store::kLicenseType, license);
  }

  const Store& store_;
  const CreateRequest& request_;
  const CreateOptions& options_;
  store::Modelfile said_;
  store::NewModel model_;
  uint64_t next_told_ = 0;
};

}  // namespace

Result<void> create(const Store& store, const CreateRequest& request,
                    const CreateOptions& options) {
  CreateOptions told = options;
  if (!told.progress) told.progress = [](const WorkProgress&) {};
  return Creation(store, request, told).run();
}

}  // namespace puna::service
