#include "server/stored_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "service/create.h"
#include "service/shown.h"
#include "store/blob_file.h"
#include "store/modelfile_parameters.h"

namespace puna::server {

using base::ErrorCode;
using base::Json;
using base::Result;
using store::Digest;

namespace {

// A blob whose digest is said before.
class ReceivedBlob final : public io::ByteSink {
 public:
  ReceivedBlob(const store::Layout& layout, const Digest& digest,
               std::unique_ptr<store::BlobFile> file)
      : layout_(layout), digest_(digest), file_(std::move(file)) {}

  Result<void> write(std::span<const std::byte> bytes) override { return file_->write(bytes); }
  Result<void> finish() override {
    PUNA_TRY(file_->finish());
    if (file_->digest() != digest_) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("digest mismatch, expected {}, got {}", digest_.text(),
                                    file_->digest().text()));
    }
    // Without its lock, which a pull of the same blob may hold for hours: the bytes are the same,
    // and a rename is whole or not at all.
    return file_->place(layout_);
  }

 private:
  const store::Layout layout_;
  const Digest digest_;
  std::unique_ptr<store::BlobFile> file_;
};

api::StoredModel described(const store::StoredModel& model, service::ModelCard card) {
  return {.name = model.name.text(),
          .digest = model.digest ? model.digest->hex() : "",
          .bytes = model.bytes,
          .modified_s = model.modified_s,
          .card = std::move(card)};
}

// A registry that plain http may go to.
bool is_here(std::string_view host) {
  const std::string_view name = host.substr(0, host.rfind(':'));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

// As ollama's clients know it.
std::string short_digest(const Digest& digest) { return digest.hex().substr(0, 12); }

// What a transfer tells, in the words of ollama's.
service::WorkProgress progress_of(const store::Progress& progress) {
  if (progress.phase == "verifying") return {.status = "verifying sha256 digest"};
  const bool moves = progress.phase == "downloading" || progress.phase == "pushing";
  if (!moves || progress.digest == Digest()) return {.status = std::string(progress.phase)};
  const std::string_view verb = progress.phase == "pushing" ? "pushing" : "pulling";
  return {.status = fmt::format("{} {}", verb, short_digest(progress.digest)),
          .digest = progress.digest.text(),
          .total_bytes = progress.total_bytes,
          .done_bytes = progress.done_bytes};
}

// What says nothing new is not said again.
service::OnWork without_repeats(service::OnWork tell) {
  auto last = std::make_shared<service::WorkProgress>();
  return [tell = std::move(tell), last](const service::WorkProgress& progress) {
    if (*last == progress) return;
    *last = progress;
    tell(progress);
  };
}

store::PullOptions transfer_options(const api::Watch& watch, const service::OnWork& tell) {
  return {.progress = [tell](const store::Progress& p) { tell(progress_of(p)); },
          .cancel = &watch.cancelled};
}

Result<void> check_insecure(const store::ModelName& name, bool insecure) {
  if (!insecure || is_here(name.host)) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("insecure is for registries of this machine, and {} is none; "
                                "`puna pull --insecure` asks any",
                                name.host));
}

// Pull and push; what is said before and behind the work itself.
Result<void> transfer(const store::Store& store, std::string_view name, bool insecure,
                      const api::Watch& watch, const char* first, const char* last,
                      const std::function<Result<void>(const store::PullOptions&)>& run) {
  PUNA_TRY(const store::ModelName parsed, store.named(name));
  PUNA_TRY(check_insecure(parsed, insecure));
  const service::OnWork tell = without_repeats(watch.tell);
  tell({.status = first});
  store::PullOptions options = transfer_options(watch, tell);
  options.insecure = insecure;
  PUNA_TRY(run(options));
  tell({.status = last});
  tell({.status = "success"});
  return {};
}

// A renderer or parser by ollama's names. Errors: kUnsupported.
Result<void> check_family(std::string_view what, const std::string& name,
                          bool store::ModelFamily::* known_as) {
  const auto is_it = [&](const store::ModelFamily& each) {
    return each.name == name && each.*known_as;
  };
  if (name.empty() || std::ranges::any_of(store::model_families(), is_it)) return {};
  return base::fail(ErrorCode::kUnsupported, fmt::format("there is no {} \"{}\"", what, name));
}

}  // namespace

Result<std::vector<api::StoredModel>> StoredModels::list() {
  PUNA_TRY(const std::vector<store::StoredModel> models, store_.list());
  std::vector<api::StoredModel> out;
  std::map<CardKey, service::ModelCard> kept;
  for (const store::StoredModel& model : models) {
    const CardKey key{model.path, model.bytes, model.modified_s};
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = cards_.find(key); known != cards_.end())
        kept.emplace(key, known->second);
    }
    if (!kept.contains(key)) {
      Result<service::ShownModel> shown = service::show_stored(model);
      if (!shown) {
        base::log_warning("{} is left out: {}", model.name.text(), shown.error().text());
        continue;
      }
      kept.emplace(key, std::move(shown->card));
    }
    out.push_back(described(model, kept.at(key)));
  }
  const std::lock_guard lock(mutex_);
  cards_ = std::move(kept);
  return out;
}

Result<api::ShownModel> StoredModels::show(std::string_view name) {
  PUNA_TRY(const store::StoredModel model, store_.find(name));
  PUNA_TRY(service::ShownModel shown, service::show_stored(model));
  // It says where it lies on this machine to nobody: its name stands for that.
  PUNA_TRY(service::ModelTexts texts, service::texts_of(shown, {model.name.text()}));
  return api::ShownModel{.model = described(model, std::move(shown.card)),
                         .file = std::move(shown.file),
                         .texts = std::move(texts)};
}

Result<void> StoredModels::copy(std::string_view from, std::string_view to) {
  return store_.copy(from, to);
}

Result<void> StoredModels::remove(std::string_view name) { return store_.remove(name); }

Result<bool> StoredModels::has_blob(std::string_view digest) {
  PUNA_TRY(const Digest parsed, Digest::parse(digest));
  return store::file_bytes(store_.layout().blob(parsed)) >= 0;
}

Result<std::unique_ptr<io::ByteSink>> StoredModels::receive_blob(std::string_view digest,
                                                                 std::optional<uint64_t> bytes) {
  PUNA_TRY(const Digest parsed, Digest::parse(digest));
  PUNA_TRY(store_.layout().prepare());
  PUNA_TRY(store::check_space(store_.layout().blobs(), "the blob", bytes.value_or(0)));
  PUNA_TRY(auto file, store::BlobFile::create(store_.layout()));
  return std::make_unique<ReceivedBlob>(store_.layout(), parsed, std::move(file));
}

Result<void> StoredModels::pull(std::string_view name, bool insecure, const api::Watch& watch) {
  return transfer(store_, name, insecure, watch, "pulling manifest", "writing manifest",
                  [&](const store::PullOptions& options) -> Result<void> {
                    PUNA_TRY(store_.pull(name, options));
                    return {};
                  });
}

Result<void> StoredModels::push(std::string_view name, bool insecure, const api::Watch& watch) {
  return transfer(store_, name, insecure, watch, "retrieving manifest", "pushing manifest",
                  [&](const store::PullOptions& options) { return store_.push(name, options); });
}

Result<void> StoredModels::create(const api::NewModel& model, const api::Watch& watch) {
  PUNA_TRY(check_family("renderer", model.renderer, &store::ModelFamily::renderer));
  PUNA_TRY(check_family("parser", model.parser, &store::ModelFamily::parser));
  service::CreateRequest request{
      .name = model.name, .quantize = model.quantize, .n_threads = n_threads_};
  for (const auto& [file, text] : model.files) {
    PUNA_TRY(const Digest digest, Digest::parse(text));
    request.files.emplace_back(file, digest);
  }
  store::Modelfile& modelfile = request.modelfile;
  if (!model.from.empty()) modelfile.from.push_back(model.from);
  PUNA_TRY(modelfile.parameters, store::read_parameters(model.parameters));
  // The empty text is what clients send that say nothing.
  if (model.chat_template && !model.chat_template->empty())
    modelfile.chat_template = model.chat_template;
  if (model.system && !model.system->empty()) modelfile.system = model.system;
  if (!model.messages.is_null()) {
    for (const Json& each : model.messages.items()) {
      PUNA_TRY(std::string role, each.get_string("role"));
      PUNA_TRY(std::string content, each.get_string("content"));
      modelfile.messages.push_back({.role = std::move(role), .content = std::move(content)});
    }
  }
  modelfile.licenses = model.licenses;
  modelfile.renderer = model.renderer;
  modelfile.parser = model.parser;
  modelfile.minimal_version = model.minimal_version;
  const service::OnWork tell = without_repeats(watch.tell);
  return service::create(
      store_, request,
      {.progress = tell, .cancel = &watch.cancelled, .pull = transfer_options(watch, tell)});
}

}  // namespace puna::server
