#include "cli/chat/editor.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace puna::cli {

using base::ErrorCode;
using base::Result;

namespace {

std::string editor() {
  for (const char* name : {"PUNA_EDITOR", "OLLAMA_EDITOR", "VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (value && *value) return value;
  }
  return "vi";
}

// A file that is gone when this is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::error_code error;
    path_ = std::filesystem::temp_directory_path(error) / "puna-XXXXXX.txt";
    const int file = mkstemps(path_.data(), /*suffixlen=*/4);
    if (file < 0) return;
    made_ = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

// The status that the command ends with; -1: it could not be started. Ctrl-C is the editor's alone
// meanwhile.
int run_shell(const std::string& command, const std::string& path) {
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  const pid_t child = fork();
  if (child == 0) {
    sigaction(SIGINT, &before, nullptr);
    const std::string line = command + " \"$1\"";  // the variable may hold arguments, too
    execl("/bin/sh", "sh", "-c", line.c_str(), "sh", path.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  sigaction(SIGINT, &before, nullptr);
  return status;
}

}  // namespace

Result<std::string> edit_text(const std::string& text) {
  const TemporaryFile file(text + "\n");
  if (!file.made()) {
    return base::fail(ErrorCode::kIo, fmt::format("A file for the editor cannot be made: {}.",
                                                  std::strerror(errno)));
  }
  const std::string command = editor();
  if (const int status = run_shell(command, file.path()); status != 0)
    return base::fail(ErrorCode::kIo, fmt::format("The editor \"{}\" fails.", command));
  std::ifstream in(file.path(), std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return base::fail(ErrorCode::kIo, "What the editor wrote cannot be read.");
  while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
  return out;
}

}  // namespace puna::cli
