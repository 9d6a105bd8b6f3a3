#include "store/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "io/new_file.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr size_t kPieceBytes =
    1 << 20;  // large enough that calls cost nothing, small enough to show progress

std::unexpected<base::Error> failed(std::string_view what, const std::string& path) {
  return std::unexpected(system_error(what, path, errno));
}

// A path for what is in the making, another each time. Other processes may have the same one: those
// of two containers that share a store have the same numbers.
std::string aside_path(const std::string& folder) {
  static std::atomic<unsigned> n_made{0};
  return fmt::format("{}/{}{}-{}", folder, kAsidePrefix, ::getpid(), n_made.fetch_add(1));
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

base::Error system_error(std::string_view what, const std::string& path, int error_number) {
  const std::string why = std::generic_category().message(error_number);
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) {
    return {ErrorCode::kIo,
            fmt::format("Cannot {} {}: {}; free some space and try again.", what, path, why),
            {}};
  }
  // ENOTDIR: a part of the path is a file.
  return {error_number == ENOENT || error_number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo,
          fmt::format("Cannot {} {}: {}.", what, path, why),
          {}};
}

Result<void> read_pieces(const std::string& path,
                         const std::function<Result<void>(std::span<const std::byte>)>& each) {
  // Without O_NONBLOCK, opening a FIFO waits for somebody who writes; regular files ignore it.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return failed("open", path);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return failed("open", path);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::kIo, fmt::format("Cannot open {}: It is not a regular file.", path));
  std::vector<std::byte> piece(kPieceBytes);
  while (true) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read", path);
    if (n == 0) return {};
    PUNA_TRY(each(std::span(piece).first(static_cast<size_t>(n))));
  }
}

Result<bool> begins_with(const std::string& path, std::string_view bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return failed("open", path);
  std::string found(bytes.size(), '\0');
  const ssize_t n = ::pread(fd.get(), found.data(), found.size(), 0);
  if (n < 0) return failed("read", path);
  return found.substr(0, static_cast<size_t>(n)) == bytes;
}

Result<std::string> read_text(const std::string& path, uint64_t max_bytes) {
  std::string text;
  PUNA_TRY(read_pieces(path, [&](std::span<const std::byte> piece) -> Result<void> {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (text.size() <= max_bytes) return {};
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} is larger than the {} bytes that it may have.", path, max_bytes));
  }));
  return text;
}

Result<void> make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return std::unexpected(system_error("make the folder", path, error.value()));
  return {};
}

Result<std::string> make_aside_folder(const std::string& folder) {
  while (true) {
    std::string path = aside_path(folder);
    if (::mkdir(path.c_str(), 0755) == 0) return path;
    if (errno != EEXIST) return failed("make the folder", path);
  }
}

Result<void> write_text(const std::string& path, std::string_view text) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  PUNA_TRY(make_folders(folder));
  PUNA_TRY(OutputFile file, OutputFile::create_aside(folder));
  const auto write = [&]() -> Result<void> {
    PUNA_TRY(file.write(std::as_bytes(std::span(text))));
    PUNA_TRY(file.sync());
    return rename_file(file.path(), path);
  };
  Result<void> written = write();
  if (!written) remove_file(file.path());
  return written;
}

Result<void> rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename to", to);
  return {};
}

void remove_file(const std::string& path) { ::unlink(path.c_str()); }

int64_t file_bytes(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? int64_t{info.st_size} : -1;
}

int64_t file_modified_s(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? int64_t{info.st_mtime} : 0;
}

Result<void> check_space(const std::string& folder, std::string_view what, uint64_t bytes) {
  constexpr double kMegabyte = 1e6;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.available >= bytes) return {};
  return fail(
      ErrorCode::kIo,
      fmt::format("The disk of {} has {:.0f} MB free, but {} needs {:.0f} MB; free some space, or "
                  "set PUNA_HOME to a folder on another disk.",
                  folder, static_cast<double>(space.available) / kMegabyte, what,
                  static_cast<double>(bytes) / kMegabyte));
}

Result<OutputFile> OutputFile::open(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0644));
  if (!fd) return failed("write", path);
  return OutputFile(std::move(fd), path);
}

Result<OutputFile> OutputFile::create_aside(const std::string& folder) {
  auto made = io::open_new_file([&](int) { return aside_path(folder); }, 0644);
  if (!made) return std::unexpected(system_error("write in", folder, made.error()));
  return OutputFile(Fd(made->fd), std::move(made->path));
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", path_);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<void> OutputFile::sync() {
  if (::fsync(fd_.get()) != 0) return failed("write", path_);
  return {};
}

}  // namespace puna::store
