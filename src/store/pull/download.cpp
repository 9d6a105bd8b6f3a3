#include "store/pull/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "store/files.h"
#include "store/manifest.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kChunkBytes = 4 << 20;
constexpr size_t kMaxParts = 8;
// A part asks for so much at once, in the order of the file: the whole is hashed as it grows, and a
// request costs nothing beside what it brings.
constexpr uint64_t kPartBytes = 32 << 20;
// Where one connection brings as much as this, others would bring no more, but out of the order in
// which the whole is hashed (bench/results/pull.txt).
constexpr double kEnoughBytesPerS = 300e6;
constexpr std::chrono::milliseconds kLookAtRate{50};
constexpr int kMaxStarts = 3;      // of a file that is another each time
constexpr int kMaxDiffering = 16;  // chunks, each of which costs a look at the whole
constexpr int kMaxRefusals = 2;
constexpr int kPollMs = 100;
constexpr std::chrono::milliseconds kPause{10};

// Some chunks in a row, while they are fetched.
struct Part {
  uint64_t pos = 0, end = 0;  // next byte wanted, and behind the last
  size_t chunk = 0;           // that `pos` is in
  uint64_t got = 0;           // bytes of this try
  int n_failed = 0;
  Clock::time_point ready{};  // not asked before
  bool active = false;
};

std::vector<Chunk> even_chunks(uint64_t bytes) {
  std::vector<Chunk> chunks;
  for (uint64_t first = 0; first < bytes; first += kChunkBytes)
    chunks.push_back({.first = first, .bytes = std::min(kChunkBytes, bytes - first)});
  return chunks;
}

class Download {
 public:
  Download(BlobSource source, std::string path, Reporter& reporter)
      : source_(std::move(source)), path_(std::move(path)), reporter_(reporter) {
    chunks_ = source_.chunks.empty() ? even_chunks(source_.bytes) : source_.chunks;
    done_.resize(chunks_.size());
    checksums_.resize(chunks_.size());
  }

  Result<Digest> run() {
    PUNA_TRY(file_, PartFile::open(path_, source_.bytes, chunks_.size()));
    reporter_.phase("downloading", source_.label, source_.digest.value_or(Digest()), source_.bytes);
    Result<Digest> digest = fetch();
    if (!digest) {
      pool_.clear();
      if (digest.error().code == ErrorCode::kCorrupt) {
        remove_file(path_);
      } else if (const Result<void> kept = keep(); !kept) {
        base::log_debug("Less is kept of {}: {}", source_.url, kept.error().text());
      }
    }
    return digest;
  }

 private:
  // Fills the file, and looks for what is wrong in it where its digest says that something is.
  Result<Digest> fetch() {
    start_over();
    PUNA_TRY(take_held());
    PUNA_TRY(pass());
    Digest digest = hasher_->whole();
    const auto is_right = [&] { return !source_.digest || *source_.digest == digest; };
    for (int n_mended = 0; !is_right(); ++n_mended) {
      PUNA_TRY(const bool any_wrong, drop_wrong_chunks());
      if (!any_wrong) break;
      if (n_mended == kMaxTries) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} gives other bytes than it says it has, each time it is asked.",
                                source_.url));
      }
      start_over();
      PUNA_TRY(pass());
      digest = hasher_->whole();
    }
    if (is_right()) return digest;
    comparing_ = true;
    std::ranges::fill(done_, 0);
    have_ = 0;
    start_over();
    PUNA_TRY(pass());
    if (found_) return *source_.digest;
    return fail(ErrorCode::kCorrupt,
                fmt::format("The SHA-256 of {} is {}, but {} is expected; it was deleted.",
                            source_.url, digest.hex(), source_.digest->hex()));
  }

  // Nothing runs any more; all chunks that are not there wait.
  void start_over() {
    pool_.clear();
    parts_.clear();
    todo_.clear();
    hasher_.emplace(*file_, chunks_);
    for (size_t i = 0; i < chunks_.size(); ++i) {
      if (done_[i] < chunks_[i].bytes) {
        todo_.push_back(i);
      } else if (!comparing_) {
        hasher_->add(i, std::nullopt);
      }
    }
  }

  void drop(size_t chunk) {
    have_ -= done_[chunk];
    done_[chunk] = 0;
    partial_.erase(chunk);
  }

  // Drops all that came: the file on the server is another now.
  Result<void> forget() {
    for (size_t i = 0; i < chunks_.size(); ++i) drop(i);
    PUNA_TRY(file_->drop_entries());
    start_over();
    return {};
  }

  // Drops the chunks that are not what the server says that they are, where it says so. False: none
  // is known to be wrong.
  Result<bool> drop_wrong_chunks() {
    if (chunks_.empty() || !chunks_[0].known) return false;
    reporter_.phase("verifying", "", *source_.digest, source_.bytes);
    bool any = false;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      const auto& [first, bytes, known] = chunks_[i];
      Sha256 hash;
      PUNA_TRY(file_->read_pieces(first, bytes, [&](auto piece) { hash.add(piece); }));
      PUNA_TRY(reporter_.at(first + bytes));
      if (!known || hash.finish() == *known) continue;
      any = true;
      drop(i);
      PUNA_TRY(file_->set_entry(i, {}));
    }
    return any;
  }

  // What an earlier download left. Complete chunks are checked when the whole comes to them.
  Result<void> take_held() {
    const bool same_url = file_->source() == sha256_of(source_.url);
    if (source_.digest) {
      if (same_url) etag_ = file_->etag();
    } else {
      // Nothing but the entity tag says whether the rest would be of the same file.
      etag_ = source_.etag;
      if (!same_url || etag_.empty() || file_->etag() != etag_) PUNA_TRY(file_->drop_entries());
    }
    todo_.clear();
    for (size_t i = 0; i < chunks_.size(); ++i) {
      PUNA_TRY(const PartEntry entry, file_->entry(i));
      if (entry.bytes > 0 && entry.bytes <= chunks_[i].bytes) done_[i] = entry.bytes;
      have_ += done_[i];
      if (done_[i] == chunks_[i].bytes) {
        checksums_[i] = entry.checksum;
        hasher_->add(i, entry.checksum);
        continue;
      }
      todo_.push_back(i);
      if (done_[i] == 0) continue;
      Xxh3& checksum = partial_[i];
      PUNA_TRY(file_->read_pieces(chunks_[i].first, entry.bytes,
                                  [&](auto piece) { checksum.add(piece); }));
      if (checksum.value() != entry.checksum) drop(i);
    }
    return reporter_.at(have_);
  }

  // Takes bytes of a chunk that are in the file now, and no more than it lacks.
  Result<void> take(size_t chunk, std::span<const std::byte> bytes) {
    Xxh3& checksum = partial_[chunk];
    checksum.add(bytes);
    done_[chunk] += bytes.size();
    have_ += bytes.size();
    if (done_[chunk] < chunks_[chunk].bytes) return {};
    const Checksum value = checksum.value();
    partial_.erase(chunk);
    if (comparing_) {
      differs_ = differs_ || checksums_[chunk] != value;
      checksums_[chunk] = value;
      return {};
    }
    checksums_[chunk] = value;
    PUNA_TRY(file_->set_entry(chunk, {.bytes = done_[chunk], .checksum = value}));
    hasher_->add(chunk, std::nullopt);
    file_->begin_sync(chunks_[chunk].first, chunks_[chunk].bytes);
    return {};
  }

  // Notes how far the chunks are that are not complete.
  Result<void> keep() {
    if (comparing_) return {};  // the entries are those of the first pass, and complete
    for (const auto& [chunk, checksum] : partial_) {
      if (done_[chunk] == 0) continue;
      PUNA_TRY(file_->set_entry(chunk, {.bytes = done_[chunk], .checksum = checksum.value()}));
    }
    return {};
  }

  // Runs until every chunk is there, or an error ends it.
  Result<void> pass() {
    int n_starts = 1;
    while (true) {
      PUNA_TRY(drop_damaged());
      if (todo_.empty() && parts_.empty() && hasher_->idle()) return {};
      start_parts();
      if (pool_.running() > 0) {
        pool_.wait(kPollMs);
      } else if (!hasher_->idle()) {
        hasher_->wait_for_idle(kPause);
      } else {
        PUNA_TRY(wait_for(kPause, reporter_));
      }
      if (changed_) {
        changed_ = false;
        if (++n_starts > kMaxStarts) {
          return fail(ErrorCode::kCorrupt,
                      fmt::format("{} is another file each time it is asked for.", source_.url));
        }
        PUNA_TRY(forget());
      }
      if (failure_) return std::unexpected(*std::move(failure_));
      if (differs_) {
        PUNA_TRY(look_at_whole());
        if (found_) return {};
      }
      PUNA_TRY(reporter_.at(have_));
    }
  }

  // What is no more as it was written, on the disk of an earlier download, is to be fetched.
  Result<void> drop_damaged() {
    PUNA_TRY(const std::vector<size_t> damaged, hasher_->take_damaged());
    for (const size_t i : damaged) {
      drop(i);
      PUNA_TRY(file_->set_entry(i, {}));
      todo_.push_front(i);
    }
    return {};
  }

  // Two answers differ; whether the later one is right only the whole tells.
  Result<void> look_at_whole() {
    differs_ = false;
    if (++n_differing_ > (whole_ ? kMaxStarts : kMaxDiffering)) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{} gives other bytes each time it is asked.", source_.url));
    }
    start_over();
    reporter_.phase("verifying", "", *source_.digest, source_.bytes);
    Sha256 whole;
    for (const Chunk& chunk : chunks_) {
      PUNA_TRY(file_->read_pieces(chunk.first, chunk.bytes, [&](auto piece) { whole.add(piece); }));
      PUNA_TRY(reporter_.at(chunk.first + chunk.bytes));
    }
    found_ = whole.finish() == *source_.digest;
    return {};
  }

  // Whether one connection brings what there is to be had, as far as it has been looked at.
  bool one_is_enough() {
    if (several_) return false;
    const auto time = Clock::now() - rate_since_;
    if (time < kLookAtRate) return true;
    const double seconds = std::chrono::duration<double>(time).count();
    const uint64_t came = have_ - std::min(have_, rate_have_);  // fewer are there after a drop
    several_ = static_cast<double>(came) < kEnoughBytesPerS * seconds;
    look_at_rate();
    return !several_;
  }

  void look_at_rate() {
    rate_since_ = Clock::now();
    rate_have_ = have_;
  }

  void start_parts() {
    size_t n_active = 0;
    for (const auto& part : parts_) n_active += part->active ? 1 : 0;
    // Until the server has shown that it knows ranges, one request is enough.
    const size_t limit = !ranged_ || one_is_enough() ? 1 : limit_;
    for (const auto& part : parts_) {
      if (n_active >= limit) return;
      if (part->active || Clock::now() < part->ready) continue;
      start(*part);
      ++n_active;
    }
    while (n_active < limit && parts_.size() < limit && !todo_.empty()) {
      parts_.push_back(std::make_unique<Part>(next_part()));
      start(*parts_.back());
      ++n_active;
    }
  }

  // The next chunks in the order of the file. Only the first may have come in part.
  Part next_part() {
    const uint64_t share = (source_.bytes - have_) / kMaxParts;
    Part part;
    part.chunk = todo_.front();
    part.pos = chunks_[part.chunk].first + done_[part.chunk];
    size_t last = part.chunk;
    todo_.pop_front();
    const auto end_of = [&](size_t i) { return chunks_[i].first + chunks_[i].bytes; };
    while (!todo_.empty() && todo_.front() == last + 1 && done_[todo_.front()] == 0 &&
           end_of(todo_.front()) - part.pos <= std::min(kPartBytes, share)) {
      last = todo_.front();
      todo_.pop_front();
    }
    part.end = end_of(last);
    return part;
  }

  void start(Part& part) {
    part.active = true;
    part.got = 0;
    io::HttpRequest request{.url = source_.url,
                            .plain_http = reporter_.options().insecure,
                            .if_range = etag_,
                            .authorization = source_.authorization,
                            .cancel = reporter_.options().cancel};
    if (whole_) {  // from the first byte to the last, whatever was there
      if (have_ > 0) {
        for (size_t i = 0; i < chunks_.size(); ++i) drop(i);
        hasher_.emplace(*file_, chunks_);
      }
      part.pos = part.chunk = 0;
      part.end = source_.bytes;
      todo_.clear();
    } else {
      request.range = io::HttpRange{.first = part.pos, .bytes = part.end - part.pos};
    }
    pool_.start(
        std::move(request),
        {.head = [this, &part](const io::HttpHead& head) { return on_head(part, head); },
         .body = [this, &part](std::span<const std::byte> piece) { return on_body(part, piece); }},
        [this, &part](Result<io::HttpHead> end) { on_end(part, std::move(end)); });
  }

  Result<void> on_head(Part& part, const io::HttpHead& head) {
    const auto no_part = [&](std::string_view why) {
      return fail(ErrorCode::kNetwork, fmt::format("{} {}.", source_.url, why));
    };
    // Where a digest decides at the end, an answer without a tag may be one of the same file.
    const bool is_other = head.etag.empty() ? !source_.digest : head.etag != etag_;
    if (!etag_.empty() && is_other) {
      etag_.clear();
      changed_ = true;
      return no_part("is another file now");
    }
    if (head.total_bytes != 0 && head.total_bytes != source_.bytes) {
      return fail(ErrorCode::kCorrupt, fmt::format("{} has {} bytes, but {} are expected.",
                                                   source_.url, head.total_bytes, source_.bytes));
    }
    if (head.status == 206) {
      if (!head.range || head.range->first != part.pos || head.range->bytes > part.end - part.pos)
        return no_part("answers with another range than the one asked for");
      if (!ranged_) look_at_rate();
      ranged_ = true;
    } else if (head.status != 200 || ranged_) {
      return no_part("does not answer with the range asked for");
    } else if (!whole_) {
      whole_ = true;  // it knows no ranges: all comes in one answer
      if (have_ > 0) {
        changed_ = true;
        return no_part("knows no ranges");
      }
      todo_.clear();
      part.end = source_.bytes;
    }
    const Digest url = sha256_of(source_.url);
    if (etag_.empty()) etag_ = head.etag;
    if (file_->source() == url && file_->etag() == etag_) return {};
    return file_->set_source(url, etag_);
  }

  Result<void> on_body(Part& part, std::span<const std::byte> piece) {
    if (piece.size() > part.end - part.pos) {
      return fail(ErrorCode::kNetwork,
                  fmt::format("{} gives more than was asked for.", source_.url));
    }
    PUNA_TRY(file_->write(part.pos, piece));
    part.got += piece.size();
    while (!piece.empty()) {
      const size_t n = static_cast<size_t>(
          std::min<uint64_t>(piece.size(), chunks_[part.chunk].bytes - done_[part.chunk]));
      PUNA_TRY(take(part.chunk, piece.first(n)));
      if (done_[part.chunk] == chunks_[part.chunk].bytes) ++part.chunk;
      part.pos += n;
      piece = piece.subspan(n);
    }
    return reporter_.at(have_);
  }

  void on_end(Part& part, Result<io::HttpHead> end) {
    part.active = false;
    if (changed_) return;        // and all starts over
    if (part.pos == part.end) {  // whatever the server had to say behind it
      n_refused_ = 0;
      std::erase_if(parts_, [&](const std::unique_ptr<Part>& each) { return each.get() == &part; });
      return;
    }
    std::optional<int64_t> retry_after_s;
    base::Error error;
    bool again = false;
    if (!end) {
      error = std::move(end.error());
      again = is_passing(error);
    } else if (end->ok()) {
      error = {ErrorCode::kNetwork,
               fmt::format("{} ended early, at byte {}.", source_.url, part.pos),
               {}};
      again = true;
    } else {
      error = status_error(*end);
      again = is_passing(end->status) || authorized_again(*end, error);
      retry_after_s = end->retry_after_s;
      if (is_passing(end->status)) limit_ = std::max<size_t>(1, limit_ / 2);
    }
    if (part.got > 0) part.n_failed = 0;
    ++part.n_failed;
    if (!again || part.n_failed >= source_.max_tries) {
      failure_ = std::move(error);
      return;
    }
    if (part.got > 0 && !retry_after_s) return;  // a cut: it goes on at once
    const auto delay = delay_before(part.n_failed, reporter_.options().backoff_ms, retry_after_s);
    if (!delay) {
      failure_ = delay.error();
      return;
    }
    part.ready = Clock::now() + *delay;
  }

  // Whether the server's refusal is answered by another authorization.
  bool authorized_again(const io::HttpHead& head, base::Error& error) {
    if ((head.status != 401 && head.status != 403) || !source_.authorize) return false;
    if (++n_refused_ > kMaxRefusals) return false;
    auto value = source_.authorize(head);
    if (!value) {
      error = std::move(value.error());
      return false;
    }
    source_.authorization = *std::move(value);
    return true;
  }

  BlobSource source_;
  std::string path_;
  Reporter& reporter_;
  std::optional<PartFile> file_;
  std::vector<Chunk> chunks_;
  std::vector<uint64_t> done_;       // bytes of each chunk that have come
  std::vector<Checksum> checksums_;  // of the complete ones
  std::map<size_t, Xxh3> partial_;   // of what has come of the others
  std::deque<size_t> todo_;          // chunks in no part yet
  std::vector<std::unique_ptr<Part>> parts_;
  std::optional<Hasher> hasher_;
  io::HttpPool pool_;
  uint64_t have_ = 0;
  std::string etag_;
  size_t limit_ = kMaxParts;
  Clock::time_point rate_since_{};  // what one connection brings is looked at since then
  uint64_t rate_have_ = 0;          // which was there then
  int n_differing_ = 0;
  int n_refused_ = 0;
  bool ranged_ = false;     // the server knows ranges
  bool whole_ = false;      // it knows none
  bool several_ = false;    // connections are to be open
  bool changed_ = false;    // all that came is void
  bool comparing_ = false;  // the second pass
  bool differs_ = false;    // from the first
  bool found_ = false;      // which made the whole right
  std::optional<base::Error> failure_;
};

}  // namespace

Result<Digest> download(BlobSource source, const std::string& part, Reporter& reporter) {
  return Download(std::move(source), part, reporter).run();
}

Result<io::HttpHead> probe(const std::string& url, const std::string& authorization,
                           const Reporter& reporter) {
  std::optional<io::HttpHead> seen;
  // Of a server that knows no ranges the whole would come: its head is all that is wanted.
  const io::HttpSink sink{.head = [&](const io::HttpHead& head) -> Result<void> {
                            seen = head;
                            if (head.status == 206) return {};
                            return fail(ErrorCode::kUnsupported, "The server knows no ranges.");
                          },
                          .body = {}};
  const Result<io::HttpHead> end = request_patiently(
      {.url = url, .range = io::HttpRange{.first = 0, .bytes = 1}, .authorization = authorization},
      sink, reporter);
  if (!end && !seen) return std::unexpected(end.error());
  const io::HttpHead& head = seen ? *seen : *end;
  if (!head.ok()) return std::unexpected(status_error(head));
  if (head.total_bytes > kMaxModelBytes) {
    return fail(ErrorCode::kCorrupt, fmt::format("The server tells a size of {} that is out of "
                                                 "range ({}).",
                                                 url, head.total_bytes));
  }
  if (head.total_bytes == 0) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("The server does not tell the size of {}, or it is empty.", url));
  }
  return head;
}

}  // namespace puna::store
