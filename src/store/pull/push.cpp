// Store::push: the blobs that the registry lacks, then the manifest. Source: distribution's
// specification, "Pushing blobs".
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "store/files.h"
#include "store/locks.h"
#include "store/manifest.h"
#include "store/progress.h"
#include "store/pull/registry.h"
#include "store/store.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr uint64_t kPieceBytes = 64 << 20;  // what a cut costs at most
constexpr uint64_t kMaxAnswerBytes = 1 << 20;

// One blob on its way.
class Upload {
 public:
  Upload(Registry& registry, const Layer& layer, Reporter& reporter)
      : registry_(registry), layer_(layer), reporter_(reporter) {}

  Result<void> run(const std::string& path) {
    PUNA_TRY(
        const TextAnswer held,
        registry_.ask({.method = "HEAD", .url = registry_.url("blobs/" + layer_.digest.text())},
                      kMaxAnswerBytes));
    reporter_.phase("pushing", registry_.host(), layer_.digest, layer_.bytes);
    if (held.head.ok()) return reporter_.at(layer_.bytes);
    file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_) return std::unexpected(system_error("open", path, errno));
    PUNA_TRY(begin());
    for (int n_failed = 0; sent_ < layer_.bytes;) {
      const uint64_t before = sent_;
      PUNA_TRY(const bool taken, piece());
      n_failed = sent_ > before ? 0 : n_failed + 1;
      if (taken) continue;
      if (n_failed >= kMaxTries) return std::unexpected(last_error_);
      PUNA_TRY(const auto delay,
               delay_before(std::max(n_failed, 1), reporter_.options().backoff_ms, retry_after_s_));
      PUNA_TRY(wait_for(delay, reporter_));
      PUNA_TRY(ask_how_far());
    }
    return finish();
  }

 private:
  Result<void> begin() {
    PUNA_TRY(
        const TextAnswer begun,
        registry_.ask({.method = "POST", .url = registry_.url("blobs/uploads/")}, kMaxAnswerBytes));
    if (!begun.head.ok()) return std::unexpected(status_error(begun.head));
    sent_ = 0;
    return follow(begun.head);
  }

  // Where the upload goes on.
  Result<void> follow(const io::HttpHead& head) {
    const std::string next = io::absolute_url(head.url, std::string(head.header("location")));
    if (next.empty() || io::url_host(next) != io::url_host(registry_.url(""))) {
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("The registry {} wants the upload to go on at \"{}\", which is not on "
                      "it.",
                      registry_.host(), head.header("location").substr(0, 300)));
    }
    url_ = next;
    return {};
  }

  // False when the piece has to be sent again, as last_error_ says.
  Result<bool> piece() {
    const uint64_t first = sent_, bytes = std::min(kPieceBytes, layer_.bytes - first);
    io::HttpRequest request{
        .method = "PATCH",
        .url = url_,
        .plain_http = reporter_.options().insecure,
        .headers = {"Content-Type: application/octet-stream",
                    fmt::format("Content-Range: {}-{}", first, first + bytes - 1)},
        .authorization = registry_.authorization(),
        .body_bytes = bytes,
        .body = [&](uint64_t offset, std::span<std::byte> out) -> Result<void> {
          for (size_t done = 0; done < out.size();) {
            const ssize_t n = ::pread(file_.get(), out.data() + done, out.size() - done,
                                      static_cast<off_t>(first + offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
              return std::unexpected(
                  system_error("read", layer_.digest.text(), n < 0 ? errno : EIO));
            }
            done += static_cast<size_t>(n);
          }
          return reporter_.at(first + offset + out.size());
        },
        .cancel = reporter_.options().cancel};
    const Result<io::HttpHead> head = io::http_request(std::move(request), {});
    retry_after_s_ = head ? head->retry_after_s : std::nullopt;
    if (!head) {
      last_error_ = head.error();
      if (!is_passing(last_error_)) return std::unexpected(last_error_);
      return false;
    }
    if (!head->ok()) {
      last_error_ = status_error(*head);
      if (head->status == 401) {  // the token has run out
        PUNA_TRY(registry_.authorize(*head));
        return false;
      }
      if (!is_passing(head->status) && head->status != 416) return std::unexpected(last_error_);
      return false;
    }
    PUNA_TRY(follow(*head));
    sent_ += bytes;
    return true;
  }

  // What the registry has after a cut; the upload begins anew where it knows nothing of it.
  Result<void> ask_how_far() {
    PUNA_TRY(const TextAnswer answer, registry_.ask({.url = url_}, kMaxAnswerBytes));
    const std::string_view range = answer.head.header("range");  // 0-LAST
    uint64_t last = 0;
    const bool told =
        answer.head.ok() && range.starts_with("0-") &&
        std::from_chars(range.data() + 2, range.data() + range.size(), last).ec == std::errc();
    if (!told) return begin();
    sent_ = last == 0 ? 0 : std::min(last + 1, layer_.bytes);
    if (answer.head.header("location").empty()) return {};
    return follow(answer.head);
  }

  Result<void> finish() {
    const std::string url = fmt::format("{}{}digest=sha256%3A{}", url_,
                                        url_.contains('?') ? '&' : '?', layer_.digest.hex());
    PUNA_TRY(const TextAnswer done, registry_.ask({.method = "PUT", .url = url}, kMaxAnswerBytes));
    if (!done.head.ok()) return std::unexpected(status_error(done.head));
    return reporter_.at(layer_.bytes);
  }

  Registry& registry_;
  const Layer& layer_;
  Reporter& reporter_;
  Fd file_;
  std::string url_;
  uint64_t sent_ = 0;
  base::Error last_error_;
  std::optional<int64_t> retry_after_s_;
};

}  // namespace

Result<void> Store::push(std::string_view text, const PullOptions& options) const {
  PUNA_TRY(const StoredModel model, own(text));
  const ModelName& name = model.name;
  if (lower_case(name.host) == kPunaHost) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has no registry in its name; `puna cp {} HOST/NAMESPACE/MODEL` "
                            "gives it one.",
                            name.text(), name.text()));
  }
  PUNA_TRY(const std::string manifest, read_text(layout_.manifest(name), kMaxManifestBytes));
  PUNA_TRY(const Manifest parsed, read_manifest(manifest));
  Reporter reporter(options, name.text());
  Registry registry(name, Registry::Access::kPush, reporter);
  for (const Layer& layer : parsed.blobs()) {
    // Held, so that nobody removes it under way.
    PUNA_TRY(const FileLock lock, FileLock::take(layout_.path(Layout::Kind::kLock, layer.digest),
                                                 [&] { return reporter.go_on(); }));
    PUNA_TRY_CONTEXT(Upload(registry, layer, reporter).run(layout_.blob(layer.digest)),
                     fmt::format("While pushing {}", layer.digest.text()));
  }
  PUNA_TRY(const TextAnswer put,
           registry.ask({.method = "PUT",
                         .url = registry.url("manifests/" + name.tag),
                         .headers = {fmt::format("Content-Type: {}", kManifestType)},
                         .body_bytes = manifest.size(),
                         .body = [&](uint64_t offset, std::span<std::byte> out) -> Result<void> {
                           std::copy_n(manifest.data() + offset, out.size(),
                                       reinterpret_cast<char*>(out.data()));
                           return {};
                         }},
                        kMaxAnswerBytes));
  if (!put.head.ok()) return std::unexpected(status_error(put.head));
  return {};
}

}  // namespace puna::store
