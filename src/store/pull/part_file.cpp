#include "store/pull/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr size_t kHeadBytes = 512;
constexpr size_t kEntryBytes = 24;
constexpr std::array<char, 8> kMagic = {'P', 'U', 'N', 'A', 'P', 'A', 'R', '2'};
constexpr size_t kMaxEtagBytes = 400;
// What was read stays in the processor's cache until it is hashed.
constexpr size_t kPieceBytes = 256 << 10;

// As it lies in the file. All processes that share a store run on one machine, so numbers are in
// its own byte order.
struct Head {
  std::array<char, 8> magic{};
  uint64_t total = 0, n_chunks = 0;
  std::array<uint8_t, 32> source{};
  uint64_t etag_bytes = 0;
  std::array<char, kMaxEtagBytes> etag{};
};
static_assert(sizeof(Head) <= kHeadBytes);

struct Entry {
  uint64_t bytes = 0;
  uint64_t checksum_low = 0, checksum_high = 0;
};
static_assert(sizeof(Entry) == kEntryBytes);

// False where the file ends before.
Result<bool> read_at(int fd, const std::string& path, uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(system_error("read", path, errno));
    if (n == 0) return false;
    out = out.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

template <class T>
Result<bool> read_struct(int fd, const std::string& path, uint64_t offset, T& out) {
  return read_at(fd, path, offset, std::as_writable_bytes(std::span(&out, 1)));
}

bool fits(const Head& head, uint64_t total) {
  return head.magic == kMagic && head.total == total && head.etag_bytes <= kMaxEtagBytes;
}

}  // namespace

Result<PartFile> PartFile::open(const std::string& path, uint64_t total, size_t n_chunks) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return std::unexpected(system_error("write", path, errno));
  PartFile file(std::move(fd), path, total, n_chunks);
  Head head;
  PUNA_TRY(const bool there, read_struct(file.fd_.get(), path, total, head));
  if (there && fits(head, total) && head.n_chunks == n_chunks) {
    file.source_ = Digest(head.source);
    file.etag_.assign(head.etag.data(), static_cast<size_t>(head.etag_bytes));
    return file;
  }
  if (::ftruncate(file.fd_.get(), 0) != 0)
    return std::unexpected(system_error("write", path, errno));
  PUNA_TRY(file.write_head());
  return file;
}

Result<void> PartFile::write_head() {
  Head head{.magic = kMagic,
            .total = total_,
            .n_chunks = n_chunks_,
            .source = source_.bytes(),
            .etag_bytes = etag_.size(),
            .etag = {}};
  std::memcpy(head.etag.data(), etag_.data(), etag_.size());
  return write(total_, std::as_bytes(std::span(&head, 1)));
}

Result<void> PartFile::set_source(const Digest& source, const std::string& etag) {
  source_ = source;
  etag_ = etag.size() <= kMaxEtagBytes ? etag : "";
  return write_head();
}

Result<PartEntry> PartFile::entry(size_t chunk) const {
  Entry entry;
  PUNA_TRY(const bool there,
           read_struct(fd_.get(), path_, total_ + kHeadBytes + chunk * kEntryBytes, entry));
  if (!there) return PartEntry{};
  return PartEntry{.bytes = entry.bytes,
                   .checksum = {.low = entry.checksum_low, .high = entry.checksum_high}};
}

Result<void> PartFile::set_entry(size_t chunk, const PartEntry& entry) {
  const Entry stored{.bytes = entry.bytes,
                     .checksum_low = entry.checksum.low,
                     .checksum_high = entry.checksum.high};
  return write(total_ + kHeadBytes + chunk * kEntryBytes, std::as_bytes(std::span(&stored, 1)));
}

Result<void> PartFile::drop_entries() {
  if (::ftruncate(fd_.get(), static_cast<off_t>(total_ + sizeof(Head))) != 0)
    return std::unexpected(system_error("write", path_, errno));
  return {};
}

Result<void> PartFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(system_error("write", path_, errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

void PartFile::begin_sync(uint64_t offset, uint64_t bytes) const {
  // What goes wrong is told by place().
  (void)::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                          SYNC_FILE_RANGE_WRITE);
}

Result<void> PartFile::read_pieces(
    uint64_t offset, uint64_t bytes,
    const std::function<void(std::span<const std::byte> piece)>& each) const {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min<uint64_t>(kPieceBytes, bytes)));
  while (bytes > 0) {
    const std::span piece =
        std::span(buffer).first(static_cast<size_t>(std::min<uint64_t>(buffer.size(), bytes)));
    PUNA_TRY(const bool there, read_at(fd_.get(), path_, offset, piece));
    if (!there)
      return fail(ErrorCode::kIo, fmt::format("Cannot read {}: It ends too early.", path_));
    each(piece);
    offset += piece.size();
    bytes -= piece.size();
  }
  return {};
}

Result<void> PartFile::place(const std::string& path, uint64_t total, const std::string& to) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(total)) != 0 || ::fdatasync(fd.get()) != 0)
    return std::unexpected(system_error("write", path, errno));
  return rename_file(path, to);
}

uint64_t PartFile::done_bytes(const std::string& path, uint64_t total) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Head head;
  if (!fd) return 0;
  if (const auto there = read_struct(fd.get(), path, total, head);
      !there || !*there || !fits(head, total))
    return 0;
  uint64_t done = 0;
  for (uint64_t chunk = 0; chunk < head.n_chunks; ++chunk) {
    Entry entry;
    const auto there = read_struct(fd.get(), path, total + kHeadBytes + chunk * kEntryBytes, entry);
    if (!there || !*there) break;  // none is written behind it yet
    done += entry.bytes;
  }
  return done < total ? done : total;
}

}  // namespace puna::store
