#include "manager/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

// The header of glibc 2.36 does not say that these are functions of C.
extern "C" {
#include <sys/pidfd.h>
}

namespace puna::manager {

using base::ErrorCode;
using base::Result;

namespace {

// A pair of descriptors, which are closed where nobody has taken them.
struct Pair {
  std::array<int, 2> ends{-1, -1};

  Pair() = default;
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
  }
  int take(size_t which) { return std::exchange(ends[which], -1); }
};

// Why no process can be started: where a limit is the reason, the limit.
std::string reason(int error) {
  rlimit limit{};
  if (error == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    return fmt::format("all {} descriptors of the server are in use (ulimit -n)", limit.rlim_cur);
  if (error == EAGAIN && ::getrlimit(RLIMIT_NPROC, &limit) == 0)
    return fmt::format("there may be no more than {} processes (ulimit -u)", limit.rlim_cur);
  return std::generic_category().message(error);
}

std::unexpected<base::Error> refused(int error) {
  return base::fail(ErrorCode::kIo,
                    fmt::format("No process can be started for the model: {}.", reason(error)));
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::string& path,
                                                const std::vector<std::string>& arguments) {
  // A socket, so that writing to a process that is gone raises no signal.
  Pair input, output, errors;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.ends.data()) != 0 ||
      ::pipe2(output.ends.data(), O_CLOEXEC) != 0 || ::pipe2(errors.ends.data(), O_CLOEXEC) != 0)
    return refused(errno);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input.ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  // Sockets of clients would stay open in it.
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::unique_ptr<Process> out(new Process);
  const int error =
      ::posix_spawn(&out->id_, path.c_str(), &actions, &attributes, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    out->id_ = -1;
    return refused(error);
  }
  out->input_ = input.take(0);
  out->output_ = output.take(0);
  out->errors_ = errors.take(0);
  out->ending_ = ::pidfd_open(out->id_, 0);
  if (out->ending_ < 0) return refused(errno);
  for (const int end : {out->output_, out->errors_})
    ::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK);
  return out;
}

Process::~Process() {
  if (id_ > 0 && !ended_) {
    kill();
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  for (const int end : {input_, output_, errors_, ending_}) {
    if (end >= 0) ::close(end);
  }
}

bool Process::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t n = ::send(input_, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void Process::end_input() { ::shutdown(input_, SHUT_RDWR); }

void Process::kill() const {
  // By the descriptor: its id may be somebody else's by now.
  if (ending_ >= 0) {
    ::pidfd_send_signal(ending_, SIGKILL, nullptr, 0);
  } else {
    ::kill(id_, SIGKILL);
  }
}

std::optional<std::string> Process::wait(std::chrono::milliseconds time) {
  if (ended_) return ended_;
  pollfd end{.fd = ending_, .events = POLLIN, .revents = 0};
  if (::poll(&end, 1, static_cast<int>(time.count())) <= 0) return {};
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) != id_) return {};
  if (WIFSIGNALED(status)) {
    ended_ = fmt::format("It was ended by the signal {} ({}).", WTERMSIG(status),
                         ::strsignal(WTERMSIG(status)));
  } else {
    ended_ = fmt::format("It has ended with the exit code {}.", WEXITSTATUS(status));
  }
  return ended_;
}

}  // namespace puna::manager
