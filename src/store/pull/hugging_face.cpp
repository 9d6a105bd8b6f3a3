#include "store/pull/hugging_face.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/log.h"
#include "store/gguf_files.h"
#include "store/places/places.h"
#include "store/pull/credentials.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

constexpr std::string_view kLabel = "Hugging Face";
constexpr uint64_t kMaxListBytes = 32 << 20;

std::string endpoint() {
  std::string set = variable("HF_ENDPOINT");
  while (set.ends_with('/')) set.pop_back();
  return set.empty() ? "https://huggingface.co" : set;
}

// A repository at one revision.
struct Repository {
  std::string url{};  // of its files
  std::vector<GgufFile> files{};
  std::map<std::string, Digest> digests{};
  std::string license{};
};

Result<Repository> read_repository(const ModelName& name, const std::string& text) {
  PUNA_TRY(const Json json, Json::parse(text));
  PUNA_TRY(const std::string revision, json.get_string("sha"));
  const Json* siblings = json.find("siblings");
  if (!siblings || !siblings->is_array())
    return fail(ErrorCode::kCorrupt, "The hub's answer has no list of files.");
  const bool plain = std::ranges::all_of(
      revision, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!plain || revision.empty())
    return fail(ErrorCode::kCorrupt, "The hub's answer names no revision.");
  Repository found;
  found.url = fmt::format("{}/{}/{}/resolve/{}/", endpoint(), name.space, name.model, revision);
  for (const Json& sibling : siblings->items()) {
    PUNA_TRY(const std::string path, sibling.get_string("rfilename"));
    const Json* lfs = sibling.find("lfs");
    if (!lfs) continue;  // a small text; models are large
    PUNA_TRY(const std::string hex, lfs->get_string("sha256"));
    PUNA_TRY(const int64_t bytes, lfs->get_integer("size"));
    const auto digest = Digest::from_hex(hex);
    if (!digest)
      return fail(ErrorCode::kCorrupt, fmt::format("The hub tells no digest of {}.", path));
    if (bytes < 0 || static_cast<uint64_t>(bytes) > kMaxModelBytes) {
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("The hub tells a size of {} that is out of range ({}).", path, bytes));
    }
    found.files.push_back({.path = path, .bytes = static_cast<uint64_t>(bytes)});
    found.digests.emplace(path, *digest);
  }
  if (const Json* card = json.find("cardData"))
    found.license = card->get_string("license").value_or("");
  return found;
}

// Paths of files hold what URLs do not.
std::string url_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#' || c <= ' ') {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

bool is_hugging_face(const ModelName& name) {
  const std::string host = lower_case(name.host);
  return host == kHuggingFaceHost || host == "huggingface.co";
}

Result<PullPlan> plan_hugging_face(const ModelName& name, Reporter& reporter) {
  const std::string token = hugging_face_token();
  const std::string authorization = token.empty() ? "" : "Bearer " + token;
  const std::string repository = fmt::format("{}/{}", name.space, name.model);
  PUNA_TRY(const TextAnswer answer,
           request_text({.url = fmt::format("{}/api/models/{}?blobs=true", endpoint(), repository),
                         .authorization = authorization},
                        kMaxListBytes, reporter));
  if (answer.head.status == 401 || answer.head.status == 403 || answer.head.status == 404) {
    return fail(ErrorCode::kNotFound,
                fmt::format("Hugging Face has no repository {}, or shows it only to those who "
                            "accepted its terms; HF_TOKEN holds a token of theirs.",
                            repository));
  }
  if (!answer.head.ok()) return std::unexpected(status_error(answer.head));
  PUNA_TRY_CONTEXT(const Repository found, read_repository(name, answer.text),
                   fmt::format("While reading what {} holds", repository));
  const GgufModels models = group(found.files);
  const GgufModel* model = pick(models, name.tag);
  if (!model) {
    std::vector<std::string> quants;
    for (const GgufModel& each : models.models) quants.push_back(each.quant);
    return fail(ErrorCode::kNotFound, quants.empty()
                                          ? fmt::format("{} holds no GGUF files.", repository)
                                          : fmt::format("{} has no \"{}\"; it has: {}.", repository,
                                                        name.tag, fmt::join(quants, ", ")));
  }
  std::vector<WantedBlob> layers;
  const auto want = [&](std::string_view type, const GgufFile& file) {
    layers.push_back(wanted_download(type, {.url = found.url + url_path(file.path),
                                            .label = std::string(kLabel),
                                            .digest = found.digests.at(file.path),
                                            .bytes = file.bytes,
                                            .authorization = authorization}));
  };
  for (const GgufFile& part : model->parts) want(kModelType, part);
  const ProjectorPick projector = pick_projector(models, model->stem);
  if (projector.taken) want(kProjectorType, *projector.taken);
  if (!projector.several.empty()) {
    std::vector<std::string> paths;
    for (const GgufFile* each : projector.several) paths.push_back(each->path);
    base::log_warning("{} has several encoders, and none is named after {}: {}. None is fetched.",
                      repository, model->stem, fmt::join(paths, ", "));
  }
  if (!found.license.empty()) {
    layers.push_back(wanted_text(
        kLicenseType, fmt::format("{} ({}/{})\n", found.license, endpoint(), repository)));
  }
  return plan_of(name, {.family = "", .parameters = "", .file_type = model->quant},
                 std::move(layers));
}

}  // namespace puna::store
