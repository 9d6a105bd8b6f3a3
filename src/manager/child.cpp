#include "manager/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "manager/child_words.h"
#include "manager/line_cutter.h"
#include "manager/process.h"

namespace puna::manager {

using base::ErrorCode;
using base::Json;
using base::Result;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostWords = 16;  // that nobody has asked for
// A word may have a chat template in it.
constexpr size_t kLongestWord = 16 << 20, kLongestLine = 2048;
constexpr uint32_t kLinesASecond = 100;

// As the child writes them: a letter of the level, a space, the text; others come from libraries.
void write_log(const std::string& name, std::string_view line) {
  const bool marked = line.size() > 2 && line[1] == ' ';
  if (marked && line[0] == 'D') return base::log_debug("{}: {}", name, line.substr(2));
  if (marked && line[0] == 'W') return base::log_warning("{}: {}", name, line.substr(2));
  base::log_info("{}: {}", name, marked && line[0] == 'I' ? line.substr(2) : line);
}

}  // namespace

struct Child::State {
  const Program program;
  const std::string name;
  std::unique_ptr<Process> process;

  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  std::deque<Json> words;
  Clock::time_point heard = Clock::now();
  int64_t done = -1;  // of what it loads
  service::HostStatus status{};
  std::string last_line;
  std::optional<std::string> ended;
  bool is_to_end = false;
  std::function<void(const base::Error& error)> told;

  std::thread thread;

  State(Program the_program, std::string the_name)
      : program(std::move(the_program)), name(std::move(the_name)) {}

  void watch();
  // False: nothing more comes of it.
  bool read(int from, const std::function<void(std::string_view piece)>& take) const;
  void hear(std::string_view line);
  void end();
  base::Error death() const;
};

void Child::State::watch() {
  LineCutter words_of({.most_bytes = kLongestWord}), lines_of({kLongestLine, kLinesASecond});
  const auto hear_piece = [&](std::string_view piece) {
    words_of.put(piece, Clock::now(), [&](std::string_view line) { hear(line); }, [](uint64_t) {});
  };
  const auto log_piece = [&](std::string_view piece) {
    const auto line_came = [&](std::string_view line) {
      if (line.empty()) return;
      {
        const std::lock_guard lock(mutex);
        last_line = line;
      }
      write_log(name, line);
    };
    lines_of.put(piece, Clock::now(), line_came, [&](uint64_t n) {
      base::log_warning("{}: {} further lines of its log were dropped.", name, n);
    });
  };
  std::array<pollfd, 3> ends = {{{.fd = process->output(), .events = POLLIN, .revents = 0},
                                 {.fd = process->errors(), .events = POLLIN, .revents = 0},
                                 {.fd = process->ending(), .events = POLLIN, .revents = 0}}};
  for (;;) {
    if (::poll(ends.data(), ends.size(), -1) < 0) continue;
    if (ends[0].revents != 0 && !read(ends[0].fd, hear_piece)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !read(ends[1].fd, log_piece)) ends[1].fd = -1;
    if (ends[2].revents == 0) continue;
    // What it has written before is still to be read, as far as it goes.
    constexpr int kMostReads = 64;
    for (int i = 0; i < kMostReads && ends[0].fd >= 0; ++i) {
      pollfd more = ends[0];
      if (::poll(&more, 1, 0) <= 0 || !read(more.fd, hear_piece)) break;
    }
    for (int i = 0; i < kMostReads && ends[1].fd >= 0; ++i) {
      pollfd more = ends[1];
      if (::poll(&more, 1, 0) <= 0 || !read(more.fd, log_piece)) break;
    }
    log_piece("\n");
    return end();
  }
}

bool Child::State::read(int from, const std::function<void(std::string_view piece)>& take) const {
  std::array<char, 16 << 10> bytes;
  const ssize_t n = ::read(from, bytes.data(), bytes.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n > 0) take({bytes.data(), static_cast<size_t>(n)});
  return n > 0;
}

void Child::State::hear(std::string_view line) {
  auto word = Json::parse(line);
  const auto is = word ? word->get_string("is") : Result<std::string>(std::unexpect);
  if (!is) return;  // whatever has written that
  const std::lock_guard lock(mutex);
  if (*is == "status") {
    status = read_status(*word);
  } else if (*is == "loading") {
    const int64_t now = word->get_integer("done").value_or(-1);
    if (now > std::exchange(done, now)) heard = Clock::now();
  } else if (words.size() < kMostWords) {
    words.push_back(*std::move(word));
  }
  changed.notify_all();
}

void Child::State::end() {
  std::optional<std::string> how;
  while (!(how = process->wait(milliseconds(1000)))) {
  }
  std::function<void(const base::Error& error)> tell;
  {
    const std::lock_guard lock(mutex);
    ended = how;
    if (!is_to_end) tell = std::exchange(told, nullptr);
    changed.notify_all();
  }
  if (tell) tell(death());
}

base::Error Child::State::death() const {
  std::string text =
      fmt::format("The process that runs the model \"{}\" has ended: {}", name, *ended);
  if (!last_line.empty()) text += fmt::format(" It said last: \"{}\"", last_line);
  return {ErrorCode::kNetwork, std::move(text), {}};
}

Child::Child(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Child>> Child::start(const Program& program, const std::string& name) {
  auto state = std::make_shared<State>(program, name);
  std::vector<std::string> arguments = program.arguments;
  arguments.push_back(name);  // for those who list processes
  PUNA_TRY(state->process, Process::start(program.path, arguments));
  state->thread = std::thread([state] { state->watch(); });
  return std::unique_ptr<Child>(new Child(std::move(state)));
}

Child::~Child() {
  {
    std::unique_lock lock(state_->mutex);
    state_->is_to_end = true;
    if (!state_->ended) {
      state_->process->end_input();
      if (!state_->changed.wait_for(lock, state_->program.grace,
                                    [&] { return state_->ended.has_value(); }))
        state_->process->kill();
    }
  }
  // Whoever is told of its end may be the last who has it.
  if (state_->thread.get_id() == std::this_thread::get_id()) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

bool Child::tell(const Json& word) { return state_->process->write(word.dump() + "\n"); }

Result<Json> Child::ask(const Json& word, std::string_view answer,
                        const std::atomic<bool>* cancel) {
  constexpr milliseconds kBetweenLooks{20};
  {
    const std::lock_guard lock(state_->mutex);
    state_->heard = Clock::now();
    state_->done = -1;
  }
  tell(word);  // that it has ended is seen below
  std::unique_lock lock(state_->mutex);
  for (;;) {
    while (!state_->words.empty()) {
      Json said = std::move(state_->words.front());
      state_->words.pop_front();
      const std::string is = *said.get_string("is");
      if (is == answer) return said;
      if (is == "failed") return std::unexpected(read_error(said));
    }
    if (state_->ended) return std::unexpected(state_->death());
    if (cancel && *cancel) {
      return base::fail(ErrorCode::kCancelled,
                        fmt::format("The model \"{}\" is no longer wanted.", state_->name));
    }
    const auto stalled = std::chrono::duration_cast<milliseconds>(Clock::now() - state_->heard);
    if (stalled >= state_->program.stall) {
      state_->is_to_end = true;
      state_->process->kill();
      return base::fail(
          ErrorCode::kNetwork,
          fmt::format("The process of the model \"{}\" has got no further for {} s and was ended "
                      "(--load-timeout).",
                      state_->name,
                      std::chrono::duration_cast<std::chrono::seconds>(stalled).count()));
    }
    state_->changed.wait_for(lock, kBetweenLooks);
  }
}

bool Child::has_ended() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ended.has_value();
}

void Child::when_died(std::function<void(const base::Error& error)> told) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->ended) {
      state_->told = std::move(told);
      return;
    }
    if (state_->is_to_end) return;
  }
  told(state_->death());
}

void Child::kill() {
  const std::lock_guard lock(state_->mutex);
  state_->is_to_end = true;
  state_->process->kill();
}

service::HostStatus Child::status() const {
  const std::lock_guard lock(state_->mutex);
  return state_->status;
}

}  // namespace puna::manager
