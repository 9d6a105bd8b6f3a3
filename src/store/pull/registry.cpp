#include "store/pull/registry.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "io/http/urls.h"
#include "store/pull/credentials.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

constexpr uint64_t kMaxTokenBytes = 1 << 20;
constexpr uint64_t kMaxChunkListBytes = 16 << 20;
constexpr uint64_t kMaxChunkBytes = 1 << 30;
// Of smaller blobs a wrong byte costs less than asking for digests does.
constexpr uint64_t kMinChunkedBytes = 64 << 20;

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// "sha256:HEX FIRST-LAST".
std::optional<Chunk> read_chunk(std::string_view line) {
  const size_t space = line.find(' '), dash = line.find('-');
  if (space == std::string_view::npos || dash == std::string_view::npos || dash < space)
    return std::nullopt;
  const auto digest = Digest::parse(line.substr(0, space));
  const auto number = [](std::string_view text) -> std::optional<uint64_t> {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const auto first = number(line.substr(space + 1, dash - space - 1));
  const auto last = number(line.substr(dash + 1));
  if (!digest || !first || !last || *last < *first || *last - *first >= kMaxChunkBytes)
    return std::nullopt;
  return Chunk{.first = *first, .bytes = *last - *first + 1, .known = *digest};
}

}  // namespace

Challenge read_challenge(std::string_view header) {
  Challenge challenge;
  const size_t space = header.find(' ');
  challenge.scheme = lower_case(header.substr(0, space));
  std::string_view rest = space == std::string_view::npos ? "" : header.substr(space + 1);
  while (!rest.empty()) {
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) break;
    std::string key(rest.substr(0, equals));
    key.erase(0, key.find_first_not_of(" ,"));
    rest.remove_prefix(equals + 1);
    std::string value;
    if (rest.starts_with('"')) {
      const size_t end = rest.find('"', 1);
      value = rest.substr(1, end == std::string_view::npos ? end : end - 1);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    } else {
      const size_t end = std::min(rest.find(','), rest.size());
      value = rest.substr(0, end);
      rest.remove_prefix(end);
    }
    if (key == "realm") challenge.realm = value;
    if (key == "service") challenge.service = value;
    if (key == "scope") challenge.scope = value;
  }
  return challenge;
}

Registry::Registry(const ModelName& name, Access access, Reporter& reporter)
    : name_(name),
      access_(access),
      reporter_(reporter),
      base_url_(fmt::format("{}://{}/v2/{}/{}", reporter.options().insecure ? "http" : "https",
                            name.host, name.space, name.model)) {}

std::string Registry::url(std::string_view rest) const {
  return fmt::format("{}/{}", base_url_, rest);
}

Result<std::string> Registry::authorize(const io::HttpHead& refused) {
  const Challenge challenge = read_challenge(refused.header("www-authenticate"));
  const std::string login = docker_login(name_.host);
  if (challenge.scheme == "basic" && !login.empty()) return authorization_ = "Basic " + login;
  if (challenge.scheme != "bearer" || challenge.realm.empty()) {
    base::Error error = status_error(refused);
    error.message +=
        fmt::format(" `docker login {}` keeps a name and password for it.", name_.host);
    return std::unexpected(std::move(error));
  }
  if (io::host_name(challenge.realm) != io::host_name(base_url_)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The registry {} sends to {} for a token, which is another host; "
                            "nothing is asked there.",
                            name_.host, challenge.realm.substr(0, 300)));
  }
  const std::string scope = challenge.scope.empty()
                                ? fmt::format("repository:{}/{}:{}", name_.space, name_.model,
                                              access_ == Access::kPull ? "pull" : "pull,push")
                                : challenge.scope;
  PUNA_TRY(
      const TextAnswer answer,
      request_text({.url = fmt::format("{}{}service={}&scope={}", challenge.realm,
                                       challenge.realm.contains('?') ? '&' : '?',
                                       percent_encoded(challenge.service), percent_encoded(scope)),
                    .authorization = login.empty() ? "" : "Basic " + login},
                   kMaxTokenBytes, reporter_));
  if (!answer.head.ok()) return std::unexpected(status_error(answer.head));
  PUNA_TRY_CONTEXT(const Json json, Json::parse(answer.text),
                   fmt::format("While reading a token of {}", name_.host));
  for (const char* key : {"token", "access_token"}) {
    if (const auto token = json.get_string(key); token && !token->contains('\n'))
      return authorization_ = "Bearer " + *token;
  }
  return fail(ErrorCode::kCorrupt,
              fmt::format("The registry {} answers with no token.", name_.host));
}

Result<TextAnswer> Registry::ask(io::HttpRequest request, uint64_t max_bytes) {
  request.authorization = authorization_;
  PUNA_TRY(TextAnswer answer, request_text(request, max_bytes, reporter_));
  if (answer.head.status != 401 || answer.head.header("www-authenticate").empty()) return answer;
  PUNA_TRY(request.authorization, authorize(answer.head));
  return request_text(request, max_bytes, reporter_);
}

Result<std::string> Registry::manifest() {
  PUNA_TRY(TextAnswer answer, ask({.url = url("manifests/" + name_.tag),
                                   .headers = {fmt::format("Accept: {}", kManifestType)}},
                                  kMaxManifestBytes));
  if (answer.head.status == 404) {
    return fail(ErrorCode::kNotFound, fmt::format("The registry {} has no model {}/{}:{}.",
                                                  name_.host, name_.space, name_.model, name_.tag));
  }
  if (!answer.head.ok()) return std::unexpected(status_error(answer.head));
  if (const auto said = Digest::parse(answer.head.header("docker-content-digest"));
      said && *said != sha256_of(answer.text)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The manifest of {} is not the one that the registry says it is.",
                            name_.text()));
  }
  return std::move(answer.text);
}

std::vector<Chunk> Registry::chunk_digests(const Layer& layer) {
  std::vector<Chunk> chunks;
  if (layer.bytes < kMinChunkedBytes) return chunks;
  std::string text;
  const auto head =
      io::http_request({.url = url("chunksums/" + layer.digest.text()),
                        .plain_http = reporter_.options().insecure,
                        .authorization = authorization_,
                        .cancel = reporter_.options().cancel},
                       {.body = [&](std::span<const std::byte> piece) -> Result<void> {
                         if (text.size() + piece.size() > kMaxChunkListBytes)
                           return fail(ErrorCode::kCorrupt, "The list of chunks is too long.");
                         text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                         return {};
                       }});
  if (!head || head->status != 200) return chunks;  // only some registries tell them
  uint64_t end = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty()) continue;
    const auto chunk = read_chunk(line);
    if (!chunk || chunk->first != end) return {};
    end += chunk->bytes;
    chunks.push_back(*chunk);
  }
  return end == layer.bytes ? std::move(chunks) : std::vector<Chunk>();
}

BlobSource Registry::source(const Layer& layer) {
  return {.url = url("blobs/" + layer.digest.text()),
          .label = name_.host,
          .digest = layer.digest,
          .bytes = layer.bytes,
          .chunks = chunk_digests(layer),
          .authorization = authorization_,
          .authorize = [this](const io::HttpHead& refused) { return authorize(refused); }};
}

}  // namespace puna::store
