// Small file operations of the store, with errors that say what to do: whole small files, and files
// written piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::store {

// Closes a file descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The error of a failed system call on `path`: kIo; a full disk is named as such. `what` completes
// "Cannot ...".
base::Error system_error(std::string_view what, const std::string& path, int error_number);

// Errors: kNotFound, kIo, kCorrupt when the file has more than `max_bytes`.
base::Result<std::string> read_text(const std::string& path, uint64_t max_bytes);
// What is in the making is called so, and what is left of it where the process dies; no name of a
// model begins so.
inline constexpr std::string_view kAsidePrefix = ".aside-";
// Makes a folder in `folder` for what is in the making, one that was not there; returns its path.
base::Result<std::string> make_aside_folder(const std::string& folder);
// Writes aside, syncs, then renames: after a crash the old or the new text is there. Makes the
// folders above.
base::Result<void> write_text(const std::string& path, std::string_view text);
base::Result<void> make_folders(const std::string& path);
base::Result<void> rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);  // no error when it is not there
// The size of a regular file; -1 for anything else.
int64_t file_bytes(const std::string& path);
// When it was last written, Unix time; 0 when that cannot be told.
int64_t file_modified_s(const std::string& path);
// Whether a file's first bytes are these. Errors: kNotFound, kIo.
base::Result<bool> begins_with(const std::string& path, std::string_view bytes);
// Errors: kIo, when the disk of `folder` has fewer bytes free; `what` says what needs them.
base::Result<void> check_space(const std::string& folder, std::string_view what, uint64_t bytes);

class OutputFile {
 public:
  // In place of what is there; nobody else may be at it (a lock).
  static base::Result<OutputFile> open(const std::string& path);
  // A file in the making in `folder`, one that was not there.
  static base::Result<OutputFile> create_aside(const std::string& folder);

  base::Result<void> write(std::span<const std::byte> bytes);
  base::Result<void> sync();  // to the disk
  const std::string& path() const { return path_; }

 private:
  OutputFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

// Reads `path` piece by piece. `each` may end it with an error. Errors: kNotFound, kIo, also for
// what is no regular file.
base::Result<void> read_pieces(
    const std::string& path,
    const std::function<base::Result<void>(std::span<const std::byte>)>& each);

}  // namespace puna::store
