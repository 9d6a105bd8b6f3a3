// Files as byte sources, on POSIX: read with pread or mapped.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "io/byte_source.h"
#include "io/range.h"

namespace puna::io {

namespace {

using base::ErrorCode;

std::string reason() { return std::generic_category().message(errno); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Opened {
  Descriptor fd;
  uint64_t size;
};

std::unexpected<base::Error> not_regular(const std::string& path) {
  return base::fail(
      ErrorCode::kIo,
      fmt::format("\"{}\" is not a regular file, so it has no length to read by.", path));
}

base::Result<Opened> open_regular(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO waits for somebody who writes; regular files ignore it.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    if (errno == ENXIO) return not_regular(path);  // a socket, or a device that is not there
    if (errno == ENOENT || errno == ENOTDIR) {
      return base::fail(ErrorCode::kNotFound, fmt::format("The file \"{}\" does not exist.", path));
    }
    return base::fail(ErrorCode::kIo,
                      fmt::format("The file \"{}\" cannot be opened: {}.", path, reason()));
  }
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) {
    return base::fail(ErrorCode::kIo,
                      fmt::format("The size of \"{}\" cannot be read: {}.", path, reason()));
  }
  if (S_ISDIR(status.st_mode))
    return base::fail(ErrorCode::kIo, fmt::format("\"{}\" is a folder, not a file.", path));
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  return Opened{std::move(fd), static_cast<uint64_t>(status.st_size)};
}

class FileSource final : public ByteSource {
 public:
  FileSource(std::string name, Opened opened)
      : name_(std::move(name)), opened_(std::move(opened)) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override {
    if (!mapped_.empty()) ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
  }

  base::Result<void> map() {
    if (opened_.size == 0) return {};
    if (opened_.size > std::numeric_limits<size_t>::max()) {
      return base::fail(ErrorCode::kIo,
                        fmt::format("\"{}\" ({} bytes) does not fit into the address space.", name_,
                                    opened_.size));
    }
    const auto n = static_cast<size_t>(opened_.size);
    void* address = ::mmap(nullptr, n, PROT_READ, MAP_SHARED, opened_.fd.get(), 0);
    if (address == MAP_FAILED) {
      return base::fail(ErrorCode::kIo,
                        fmt::format("The file \"{}\" cannot be mapped: {}.", name_, reason()));
    }
    mapped_ = std::span(static_cast<const std::byte*>(address), n);
    return {};
  }

  uint64_t size() const override { return opened_.size; }
  const std::string& name() const override { return name_; }
  bool reads_at_once() const override { return true; }
  std::span<const std::byte> mapped() const override { return mapped_; }
  // Advice: what it cannot give comes with the read.
  bool fetch([[maybe_unused]] uint64_t offset, [[maybe_unused]] uint64_t bytes) override {
#if defined(__linux__)
    ::posix_fadvise(opened_.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                    POSIX_FADV_WILLNEED);
    return true;
#elif defined(__APPLE__)
    radvisory range{static_cast<off_t>(offset),
                    static_cast<int>(std::min<uint64_t>(bytes, INT_MAX))};
    ::fcntl(opened_.fd.get(), F_RDADVISE, &range);
    return true;
#else
    return false;
#endif
  }
  void read(uint64_t offset, std::span<std::byte> out, ReadDone done) override {
    done(read_now(offset, out));
  }

 private:
  base::Result<void> read_now(uint64_t offset, std::span<std::byte> out) const {
    PUNA_TRY(check_range(*this, offset, out.size()));
    while (!out.empty()) {
      // Linux transfers at most 2 GiB a call.
      const size_t n = std::min<size_t>(out.size(), size_t{1} << 30);
      const ssize_t got = ::pread(opened_.fd.get(), out.data(), n, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return base::fail(ErrorCode::kIo, fmt::format("Reading \"{}\" at offset {} fails: {}.",
                                                      name_, offset, reason()));
      }
      if (got == 0) {
        return base::fail(
            ErrorCode::kIo,
            fmt::format("\"{}\" ends at offset {} although it had {} bytes when it was opened.",
                        name_, offset, opened_.size));
      }
      offset += static_cast<uint64_t>(got);
      out = out.subspan(static_cast<size_t>(got));
    }
    return {};
  }

  std::string name_;
  Opened opened_;
  std::span<const std::byte> mapped_;
};

}  // namespace

base::Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  PUNA_TRY(Opened opened, open_regular(path));
  return std::make_unique<FileSource>(path, std::move(opened));
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

base::Result<std::unique_ptr<ByteSource>> map_file(const std::string& path) {
  PUNA_TRY(Opened opened, open_regular(path));
  auto source = std::make_unique<FileSource>(path, std::move(opened));
  PUNA_TRY(source->map());
  return source;
}

}  // namespace puna::io
