#include "service/known_senses.h"

#include <optional>
#include <system_error>
#include <utility>

#include "base/task.h"
#include "formats/open.h"
#include "store/projector.h"
#include "store/store.h"

namespace puna::service {

using base::Result;

namespace {

// Empty: there is none.
Result<std::string> encoder_path(const store::Resolved& model, const EncoderWish& wish) {
  if (wish.none) return std::string();
  if (wish.named.empty()) return store::projector_of(model);
  PUNA_TRY(const store::Resolved named, store::resolve(wish.named));
  return named.needs_pull() ? std::string() : named.path;
}

Takes look(const std::string& model, const std::string& encoder) {
  const auto file = base::run_until(formats::open_model(model), [] {});
  if (!file) return {};
  const Result<FoundEncoder> found = check_encoder(encoder, &*file);
  if (!found) return {};
  return {.pictures = found->sees, .sounds = found->hears};
}

}  // namespace

Takes KnownSenses::of(const std::string& name, const EncoderWish& wish) {
  const auto model = store::resolve(name);
  if (!model || model->needs_pull()) return {};
  const Result<std::string> encoder = encoder_path(*model, wish);
  if (!encoder || encoder->empty()) return {};
  std::error_code failed;
  const auto changed = std::filesystem::last_write_time(*encoder, failed);
  if (failed) return {};
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(model->path);
  if (found != known_.end() && found->second.encoder == *encoder &&
      found->second.changed == changed)
    return found->second.takes;
  const Takes takes = look(model->path, *encoder);
  known_.insert_or_assign(model->path,
                          Known{.encoder = *encoder, .changed = changed, .takes = takes});
  return takes;
}

}  // namespace puna::service
