#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/output.h"

namespace puna::cli {
namespace {

constexpr double kShowEveryMs = 100;

service::Control g_control;  // its cancel is what interrupted() gives
std::atomic<bool> g_terminated{false};
std::atomic<bool> g_hung_up{false};
std::atomic<bool> g_keeps_running{false};

// Wakes who waits for a key: a signal between a look at the flag and the wait would be missed.
int g_wake[2] = {-1, -1};

void wake() {
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(g_wake[1], "", 1);
  errno = error;
}

void on_interrupt(int signal) {
  const bool ends_chats = signal != SIGINT;
  if (ends_chats) g_terminated = true;
  const bool again = g_control.cancel.exchange(true);
  if (again && (ends_chats || !g_keeps_running)) std::_Exit(kInterruptedExit);
  wake();
}

void on_hangup(int) {
  g_hung_up = true;
  wake();
}

std::string clock_text(double seconds) {
  if (!(seconds < 360000)) return "--:--";
  const auto s = static_cast<int>(std::lround(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

constexpr const char* kClearLine = "\x1b[K";

// The line of a bar, whose parts are left out from the end until it fits the terminal: one that
// wraps could not be written over.
std::string fitting(const std::string& first, std::initializer_list<std::string> parts) {
  const size_t columns = columns_of(stderr);
  std::string line = first;
  for (const std::string& part : parts) {
    if (columns > 0 && line.size() + part.size() >= columns) break;
    line += part;
  }
  return columns > 0 ? line.substr(0, columns - 1) : line;
}

std::string bar_of(uint64_t done, uint64_t total) {
  constexpr size_t kWidth = 24;
  const size_t filled = total > 0 ? static_cast<size_t>(std::min(done, total) * kWidth / total) : 0;
  return std::string(filled, '#') + std::string(kWidth - filled, '.');
}

}  // namespace

std::atomic<bool>& interrupted() { return g_control.cancel; }

std::shared_ptr<service::Control> interrupt_control() {
  return {std::shared_ptr<void>(), &g_control};
}

bool terminated() { return g_terminated; }

void keep_running() { g_keeps_running = true; }

void catch_interrupts() {
  if (pipe2(g_wake, O_NONBLOCK | O_CLOEXEC) != 0) g_wake[0] = g_wake[1] = -1;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A terminal that is closed ends what runs on it as Ctrl-C does, unless nohup is between them.
  struct sigaction before = {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  // A file that may not grow so far is an error of who writes it.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool wait_for_input() {
  while (!interrupted()) {
    pollfd ends[] = {{STDIN_FILENO, POLLIN, 0}, {g_wake[0], POLLIN, 0}};
    if (poll(ends, 2, -1) < 0 && errno != EINTR) return true;  // the read will say what is wrong
    char bytes[16];
    while (ends[1].revents != 0 && read(g_wake[0], bytes, sizeof(bytes)) > 0) {
    }
    if (ends[0].revents != 0 && !interrupted()) return true;
  }
  return false;
}

Signal wait_for_signal() {
  for (;;) {
    if (interrupted()) return Signal::kEnd;
    if (g_hung_up.exchange(false)) return Signal::kHangup;
    pollfd end{g_wake[0], POLLIN, 0};
    (void)poll(&end, 1, -1);
    char bytes[16];
    while (end.revents != 0 && read(g_wake[0], bytes, sizeof(bytes)) > 0) {
    }
  }
}

void catch_hangups() {
  struct sigaction action = {};
  action.sa_handler = on_hangup;
  action.sa_flags = SA_RESTART;
  sigaction(SIGHUP, &action, nullptr);
}

void ProgressBar::update(std::string_view what, uint64_t done_bytes, uint64_t total_bytes) {
  if (isatty(STDERR_FILENO) == 0) return;
  const bool new_phase = what != what_;
  if (new_phase) {
    clear();
    what_ = what;
    started_ = {};
    first_bytes_ = done_bytes;
  } else if (visible_ && shown_.ms() < kShowEveryMs && done_bytes < total_bytes) {
    return;
  }
  const double seconds = started_.ms() / 1000;
  const double rate = seconds > 0 ? static_cast<double>(done_bytes - first_bytes_) / seconds : 0;
  const double fraction =
      total_bytes > 0 ? static_cast<double>(done_bytes) / static_cast<double>(total_bytes) : 0;
  const double left_s = rate > 0 ? static_cast<double>(total_bytes - done_bytes) / rate : 1e9;
  const std::string percent = fmt::format(" {:3.0f}%", fraction * 100);
  const std::string bar = fmt::format(" [{}]", bar_of(done_bytes, total_bytes));
  const size_t columns = columns_of(stderr);
  const bool narrow = columns > 0 && what_.size() + bar.size() + percent.size() >= columns;
  print_err("\r{}{}",
            fitting(what_ + (narrow ? "" : bar) + percent,
                    {fmt::format(" {} of {}", human_bytes(done_bytes), human_bytes(total_bytes)),
                     fmt::format(", {}/s", human_bytes(static_cast<uint64_t>(rate))),
                     fmt::format(", {} left", clock_text(left_s))}),
            kClearLine);
  std::fflush(stderr);
  visible_ = true;
  shown_ = {};
}

void ProgressBar::count(std::string_view what, uint64_t done, uint64_t total) {
  if (isatty(STDERR_FILENO) == 0) return;
  print_err("\r{}{}",
            fitting(fmt::format("[{}]", bar_of(done, total)),
                    {fmt::format(" {} of {}", done, total), fmt::format("  {}", what)}),
            kClearLine);
  std::fflush(stderr);
  visible_ = true;
}

void ProgressBar::clear() {
  if (visible_) print_err("\r{}", kClearLine);
  visible_ = false;
}

bool stdin_is_terminal() { return isatty(STDIN_FILENO) != 0; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }
bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

size_t columns_of(std::FILE* stream) {
  winsize size{};
  if (isatty(fileno(stream)) == 0 || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool shows_colours(std::FILE* stream) {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = !term || !*term || std::string_view(term) == "dumb";
  return isatty(fileno(stream)) != 0 && !(none && *none) && !dumb;
}

std::string human_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double v = static_cast<double>(bytes);
  int unit = 0;
  while (v >= 999.5 && unit < 4) {
    v /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.{}f} {}", v, v < 9.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace puna::cli
