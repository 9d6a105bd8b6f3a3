// Locks between processes, and between callers in one: flock on a file of its own. Freed by the
// kernel when the process dies, however it does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/files.h"

namespace puna::store {

// Held by one caller at a time; its end deletes the file.
class FileLock {
 public:
  // Nothing when another has it. Errors: kIo.
  static base::Result<std::optional<FileLock>> try_take(const std::string& path);
  // Waits until it is free; `waiting` is called a few times a second meanwhile and may end that
  // with an error. Errors: kIo.
  static base::Result<FileLock> take(const std::string& path,
                                     const std::function<base::Result<void>()>& waiting);

  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

}  // namespace puna::store
