#include "store/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "io/http/http_client.h"
#include "store/files.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr int kMaxFruitlessTries =
    3;  // in a row, each without one new byte after the first success
constexpr uint64_t kMaxStateBytes = 64 * 1024;  // of the file with URL and entity tag

std::string_view source_of(std::string_view url) {
  return url.starts_with("https://huggingface.co/") ? "Hugging Face" : url;
}

// One blob while it is downloaded.
class Download {
 public:
  Download(const std::string& url, uint64_t bytes, const std::string& blob, Reporter& reporter)
      : url_(url),
        bytes_(bytes),
        partial_(blob + "-partial"),
        state_(partial_ + "-etag"),
        reporter_(reporter) {}

  const std::string& partial() const { return partial_; }
  bool resumed() const { return resumed_; }

  // Fills the partial file up to the size wanted.
  Result<void> run() {
    reporter_.phase("downloading", source_of(url_), bytes_);
    find_partial();
    int fruitless = 0;
    while (have_ < bytes_) {
      const uint64_t before = have_;
      Result<void> tried = attempt();
      if (tried && have_ == bytes_) break;
      if (tried)
        tried = fail(ErrorCode::kNetwork,
                     fmt::format("{} ended early, at byte {} of {}.", url_, have_, bytes_));
      if (tried.error().code != ErrorCode::kNetwork) return tried;
      fruitless = have_ > before ? 0 : fruitless + 1;
      if (!connected_ || fruitless >= kMaxFruitlessTries) return tried;
    }
    remove_file(state_);
    return {};
  }

 private:
  // What an earlier download of the same URL left is used; anything else starts over.
  void find_partial() {
    const int64_t found = file_bytes(partial_);
    const Result<std::string> state = read_text(state_, kMaxStateBytes);
    const bool same_url = state && state->starts_with(url_ + "\n");
    if (found > 0 && static_cast<uint64_t>(found) <= bytes_ && same_url) {
      have_ = static_cast<uint64_t>(found);
      resumed_ = true;
      etag_ = state->substr(url_.size() + 1);
    } else {
      remove_file(partial_);
    }
  }

  Result<void> attempt() {
    std::optional<OutputFile> file;
    const auto head = [&](const io::HttpHead& answer) -> Result<void> {
      connected_ = true;
      if (answer.total_bytes != 0 && answer.total_bytes != bytes_) {
        return fail(ErrorCode::kCorrupt, fmt::format("{} has {} bytes, but {} are expected.", url_,
                                                     answer.total_bytes, bytes_));
      }
      have_ = answer.offset;
      if (have_ == 0 || answer.etag != etag_) {
        etag_ = answer.etag;
        PUNA_TRY(write_text(state_, url_ + "\n" + etag_));
      }
      const auto mode = have_ > 0 ? OutputFile::Mode::kAppend : OutputFile::Mode::kTruncate;
      PUNA_TRY(file, OutputFile::open(partial_, mode));
      return {};
    };
    const auto body = [&](std::span<const std::byte> piece) -> Result<void> {
      if (piece.size() > bytes_ - have_) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} gives more than the {} bytes expected.", url_, bytes_));
      }
      PUNA_TRY(file->write(piece));
      have_ += piece.size();
      return reporter_.at(have_);
    };
    PUNA_TRY(io::http_get(
        {.url = url_, .offset = have_, .if_range = etag_, .cancel = reporter_.cancel()},
        {.head = head, .body = body}));
    return file ? file->sync() : Result<void>{};
  }

  const std::string& url_;
  uint64_t bytes_;
  std::string partial_, state_;
  Reporter& reporter_;
  uint64_t have_ = 0;
  std::string etag_;
  bool connected_ = false;
  bool resumed_ = false;  // bytes of an earlier process are part of it
};

}  // namespace

Result<void> accept_blob(const std::string& file, const std::string& sha256, uint64_t bytes,
                         const std::string& blob, Reporter& reporter) {
  reporter.phase("verifying", "", bytes);
  PUNA_TRY(const std::string found,
           sha256_of_file(file, [&](uint64_t done) { return reporter.at(done); }));
  if (found != sha256) {
    remove_file(file);
    return fail(ErrorCode::kCorrupt,
                fmt::format("The SHA-256 of the file is {}, but {} is expected; it was deleted.",
                            found, sha256));
  }
  return rename_file(file, blob);
}

Result<void> download(const std::string& url, const std::string& sha256, uint64_t bytes,
                      const std::string& blob, Reporter& reporter) {
  while (true) {
    Download download(url, bytes, blob, reporter);
    PUNA_TRY(download.run());
    Result<void> accepted = accept_blob(download.partial(), sha256, bytes, blob, reporter);
    // A crash may have left a part that never reached the disk: then one whole download decides.
    const bool again =
        !accepted && accepted.error().code == ErrorCode::kCorrupt && download.resumed();
    if (!again) return accepted;
  }
}

}  // namespace puna::store
