#include "store/pull/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "store/files.h"

extern char** environ;

namespace puna::store {
namespace {

using base::Result;

constexpr int kPollMs = 100;
constexpr int kGracePolls = 20;            // between SIGTERM and SIGKILL
constexpr size_t kMaxOutputBytes = 16384;  // the end of it is what tells the error

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Appends what the pipe holds; false at its end. Waits up to kPollMs.
bool drain(int pipe, std::string& output) {
  pollfd waiting{pipe, POLLIN, 0};
  if (::poll(&waiting, 1, kPollMs) <= 0) return true;
  char buffer[4096];
  const ssize_t n = ::read(pipe, buffer, sizeof buffer);
  if (n <= 0) return n < 0 && errno == EINTR;
  output.append(buffer, static_cast<size_t>(n));
  if (output.size() > kMaxOutputBytes) output.erase(0, output.size() - kMaxOutputBytes);
  return true;
}

void end_group(pid_t child) {
  ::kill(-child, SIGTERM);
  for (int i = 0; i < kGracePolls; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) break;
    ::poll(nullptr, 0, kPollMs);
    if (i + 1 == kGracePolls) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  ::kill(-child, SIGKILL);  // what outlived its parent
}

}  // namespace

Result<Finished> run_process(const std::vector<std::string>& arguments,
                             const std::vector<std::pair<std::string, std::string>>& environment,
                             const std::function<Result<void>()>& poll) {
  std::vector<std::string> argv = arguments, variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [key, value] : environment) replaced = replaced || text.starts_with(key + "=");
    if (!replaced) variables.emplace_back(text);
  }
  for (const auto& [key, value] : environment)
    variables.push_back(fmt::format("{}={}", key, value));

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(system_error("start", argv[0], errno));
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(
      &attributes,
      POSIX_SPAWN_SETPGROUP);  // a group of its own, so that a cancel reaches all of it
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int spawned = ::posix_spawnp(&child, argv[0].c_str(), &actions, &attributes,
                                     pointers(argv).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (spawned == ENOENT) return Finished{.found = false, .exit_code = 127, .output = {}};
  if (spawned != 0) return std::unexpected(system_error("start", argv[0], spawned));

  write_end = Fd();
  Finished finished;
  bool open = true;
  while (true) {
    if (Result<void> wanted = poll(); !wanted) {
      end_group(child);
      return std::unexpected(std::move(wanted.error()));
    }
    if (open) {
      open = drain(read_end.get(), finished.output);
      continue;
    }
    int status = 0;
    const pid_t waited = ::waitpid(child, &status, WNOHANG);
    if (waited == child) {
      finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return finished;
    }
    if (waited < 0 && errno != EINTR)
      return std::unexpected(system_error("wait for", argv[0], errno));
    ::poll(nullptr, 0, kPollMs / 10);
  }
}

}  // namespace puna::store
