#include "io/byte_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace puna::io {

namespace {

std::unexpected<base::Error> failed(const char* what, const std::string& path) {
  return base::fail(base::ErrorCode::kIo, fmt::format("{} \"{}\" fails: {}.", what, path,
                                                      std::generic_category().message(errno)));
}

class FileSink final : public ByteSink {
 public:
  FileSink(std::string path, std::string part, int fd)
      : path_(std::move(path)), part_(std::move(part)), fd_(fd) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override {
    if (fd_ >= 0) ::close(fd_);
    if (!finished_) std::remove(part_.c_str());
  }

  base::Result<void> write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t put =
          ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failed("Writing", part_);
      bytes = bytes.subspan(static_cast<size_t>(put));
    }
    return {};
  }

  base::Result<void> finish() override {
    if (::close(std::exchange(fd_, -1)) != 0) return failed("Closing", part_);
    if (std::rename(part_.c_str(), path_.c_str()) != 0)
      return failed("Renaming the finished file to", path_);
    finished_ = true;
    return {};
  }

 private:
  std::string path_;
  std::string part_;
  int fd_;
  bool finished_ = false;
};

class MemorySink final : public ByteSink {
 public:
  explicit MemorySink(std::vector<std::byte>& out) : out_(out) {}
  base::Result<void> write(std::span<const std::byte> bytes) override {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return {};
  }
  base::Result<void> finish() override { return {}; }

 private:
  std::vector<std::byte>& out_;
};

}  // namespace

base::Result<std::unique_ptr<ByteSink>> create_file(const std::string& path) {
  std::string part = path + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return failed("Creating", part);
  return std::make_unique<FileSink>(path, std::move(part), fd);
}

std::unique_ptr<ByteSink> to_memory(std::vector<std::byte>& out) {
  return std::make_unique<MemorySink>(out);
}

}  // namespace puna::io
