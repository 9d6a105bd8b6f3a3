// A read position in the first bytes of a GGUF file. A read that fails says why: the file is bad
// (an error), or the prefix is too short (so many bytes are needed). Reads return false from then
// on, so callers only hand the bool up.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::formats {

class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> prefix, uint64_t file_bytes)
      : prefix_(prefix), file_bytes_(file_bytes) {}

  uint64_t position() const { return position_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t needed_prefix() const { return needed_; }
  const std::optional<base::Error>& error() const { return error_; }

  // What is being read, for messages: "The value of metadata key" "general.name". Must outlive the
  // reads.
  void describe(std::string_view what, std::string_view name = {}) {
    what_ = what;
    name_ = name;
  }
  std::string described() const {
    return name_.empty() ? std::string(what_) : fmt::format("{} \"{}\"", what_, name_);
  }

  bool fail(base::ErrorCode code, std::string message) {
    if (!error_) error_ = base::Error{code, std::move(message), {}};
    return false;
  }
  // "<what is read> <problem> (at byte N)."
  bool corrupt(std::string_view problem) { return refuse(base::ErrorCode::kCorrupt, problem); }
  bool unsupported(std::string_view problem) {
    return refuse(base::ErrorCode::kUnsupported, problem);
  }

  // Makes sure that `count` items of at least `item_bytes` bytes each lie ahead, in the file and in
  // the prefix.
  bool require(uint64_t count, uint64_t item_bytes) {
    const uint64_t left = file_bytes_ - position_;
    if (count > left / item_bytes) {
      if (item_bytes == 1)
        return corrupt(fmt::format("has {} bytes, but only {} are left in the file", count, left));
      return corrupt(
          fmt::format("has {} items of at least {} bytes, but only {} bytes are left in the file",
                      count, item_bytes, left));
    }
    const uint64_t end = position_ + count * item_bytes;
    if (end > prefix_.size()) {
      needed_ = end;
      return false;
    }
    return true;
  }

  template <class T>
  bool read(T& out) {
    if (!ahead(sizeof(T))) return false;
    std::memcpy(&out, prefix_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  // A view into the prefix.
  bool read_string(std::string_view& out) {
    uint64_t length = 0;
    if (!read(length) || !require(length, 1)) return false;
    out = {reinterpret_cast<const char*>(prefix_.data() + position_), static_cast<size_t>(length)};
    position_ += length;
    return true;
  }

 private:
  bool ahead(uint64_t n) {
    if (position_ + n <= prefix_.size()) return true;
    if (n > file_bytes_ - position_)
      return corrupt(fmt::format("is cut off by the end of the file ({} bytes)", file_bytes_));
    needed_ = position_ + n;
    return false;
  }
  bool refuse(base::ErrorCode code, std::string_view problem) {
    return fail(code, fmt::format("{} {} (at byte {}).", described(), problem, position_));
  }

  std::span<const std::byte> prefix_;
  uint64_t file_bytes_;
  uint64_t position_ = 0;
  uint64_t needed_ = 0;
  std::string_view what_ = "The header";
  std::string_view name_;
  std::optional<base::Error> error_;
};

}  // namespace puna::formats
