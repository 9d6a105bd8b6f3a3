#include "cli/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace puna::cli {

using base::ErrorCode;

namespace {
constexpr size_t kMaxBytes = size_t{16} << 20;  // a hundred times the longest template in use
}

base::Result<std::string> read_text_file(std::string_view what, const std::string& path) {
  const auto fail = [&](ErrorCode code, std::string_view why) {
    return base::fail(code, fmt::format("The {} {} {}.", what, path, why));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  std::string out;
  char part[65536];
  for (size_t n = 0; (n = std::fread(part, 1, sizeof part, file.get())) > 0;) {
    out.append(part, n);
    if (out.size() > kMaxBytes)
      return fail(ErrorCode::kInvalidArgument, fmt::format("is larger than {} bytes", kMaxBytes));
  }
  if (std::ferror(file.get()))
    return fail(ErrorCode::kIo, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (out.find_first_not_of(" \t\r\n") == std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "is empty");
  return out;
}

}  // namespace puna::cli
