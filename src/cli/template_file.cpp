#include "cli/template_file.h"

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

base::Result<chat::Template> read_template(const std::string& path) {
  if (path.empty()) return base::fail(ErrorCode::kUsage, "--template has no file.");
  const auto fail = [&](ErrorCode code, std::string_view what) {
    return base::fail(code, fmt::format("The chat template {} {}.", path, what));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  std::string source;
  char part[65536];
  for (size_t n = 0; (n = std::fread(part, 1, sizeof part, file.get())) > 0;) {
    source.append(part, n);
    if (source.size() > kMaxBytes)
      return fail(ErrorCode::kInvalidArgument, fmt::format("is larger than {} bytes", kMaxBytes));
  }
  if (std::ferror(file.get()))
    return fail(ErrorCode::kIo, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (source.find_first_not_of(" \t\r\n") == std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "is empty");
  PUNA_TRY_CONTEXT(chat::Template parsed, chat::Template::parse(std::move(source)),
                   fmt::format("While reading {}", path));
  return parsed;
}

}  // namespace puna::cli
