#include "cli/serve/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "api/llama/props.h"
#include "base/clock.h"
#include "base/commit.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/serve/recipe.h"
#include "manager/child_words.h"
#include "manager/in_process.h"
#include "server/server.h"

namespace puna::cli {

using base::ErrorCode;
using base::Json;
using base::Result;
using manager::Footprint;

namespace {

constexpr double kMib = 1 << 20;

// What a process takes to serve beside its model, as bench/planned_memory finds it: the stacks and
// heaps of its threads, the server, and the texts that tell of the model.
constexpr uint64_t kServes = 900 << 10;
// What a driver takes of a GPU's memory for a process: 50 to 77 MiB for five of six models on an
// H200 (bench/results/planned-memory-gpu.txt).
constexpr uint64_t kDrives = 64 << 20;

// Of a model's memory, what its process takes of GPUs beside it.
Footprint with_drivers(Footprint bytes) {
  for (auto& [device, n] : bytes) n += device == manager::kHost ? 0 : kDrives;
  return bytes;
}

// Bytes of memory that this process alone has, 0 where nobody says. Pages of files, such as the
// code of a driver, are not of them: they are shared with other processes, and the system drops
// them when it wants their room.
uint64_t resident_bytes() {
  std::ifstream file("/proc/self/status");
  uint64_t out = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kib = 0;
    if (words >> name >> kib && (name == "RssAnon:" || name == "RssShmem:")) out += kib << 10;
  }
  return out;
}

// What is said to the parent, a line a word.
class Words {
 public:
  // Takes stdout, to which nobody else writes from now on.
  Words() : to_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }

  void say(const Json& word) {
    const std::string line = word.dump() + "\n";
    const std::lock_guard lock(mutex_);
    for (std::string_view left = line; !left.empty();) {
      const ssize_t n = ::write(to_, left.data(), left.size());
      if (n <= 0) return;  // nobody listens any more, and the end of stdin says so too
      left.remove_prefix(static_cast<size_t>(n));
    }
  }
  void say(const char* is, Json word = Json::object()) { say(word.set("is", is)); }

 private:
  const int to_;
  std::mutex mutex_;
};

// The words of the parent. The end of them is the end of this process, whatever it does.
class Orders {
 public:
  // Waits. Errors: kCorrupt.
  static Result<Json> first() {
    std::string line;
    if (!read_line(line)) std::_Exit(0);
    return Json::parse(line);
  }
  void start(const std::string& socket) {
    std::thread([this, socket] {
      for (std::string line; read_line(line);) {
        auto order = Json::parse(line);
        const std::lock_guard lock(mutex_);
        if (order) orders_.push_back(*std::move(order));
        came_.notify_all();
      }
      ::unlink(socket.c_str());
      std::_Exit(0);
    }).detach();
  }
  Json next() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return !orders_.empty(); });
    Json out = std::move(orders_.front());
    orders_.pop_front();
    return out;
  }

 private:
  static bool read_line(std::string& line) {
    line.clear();
    for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1;) {
      if (c == '\n') return true;
      line += c;
    }
    return false;
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Json> orders_;
};

// The only model of this process, whatever it is called: the parent knows its names.
class Only final : public api::ModelSource {
 public:
  explicit Only(const api::ServedModel& model)
      : model_(std::make_shared<const api::ServedModel>(model)) {}
  std::shared_ptr<void> acquire(const api::ModelWish&,
                                std::function<void(Result<api::ModelLease>)> done) override {
    done(model_);
    return nullptr;
  }
  std::vector<api::ModelLease> loaded() const override { return {model_}; }

 private:
  const api::ModelLease model_;
};

class ChildProcess {
 public:
  ChildProcess(Words& words, manager::Hello hello, GivenFlags given, GivenFlags preset)
      : words_(words),
        hello_(std::move(hello)),
        given_(std::move(given)),
        preset_(std::move(preset)),
        loader_([this](const manager::Entry&) { return recipe(); }) {}

  // Does as it is told, for ever.
  void run(Orders& orders) {
    for (;;) {
      const Json order = orders.next();
      const std::string what = order.get_string("do").value_or("");
      Result<void> done;
      if (what == "measure") done = measure();
      if (what == "load") done = load(order.get_bool("step_down").value_or(false));
      if (what == "sleep") sleep();
      if (!done) words_.say("failed", manager::to_json(done.error()));
    }
  }

 private:
  Result<manager::Recipe> recipe() {
    PUNA_TRY(manager::Recipe out, serve::recipe_of(given_, preset_));
    const auto said = std::make_shared<base::Timer>();
    out.options.engine.hooks.on_progress = [this, said](uint64_t done, uint64_t total) {
      constexpr double kBetweenMs = 200;
      if (said->ms() < kBetweenMs) return;
      *said = {};
      words_.say("loading", Json::object().set("done", done).set("total", total));
    };
    return out;
  }

  // As the parent's, which lets requests in and writes the log.
  Result<server::Options> options_here() const {
    PUNA_TRY(const ServeFlags flags, read_model_flags(given_, {}));
    server::Options out = flags.server;
    out.listen = {{.host = hello_.socket, .port = 0}};
    out.api_prefix.clear();
    out.api_keys.clear();
    out.certificate_file.clear();
    out.key_file.clear();
    out.on_request = {};
    out.behind_server = true;
    return out;
  }

  Result<void> measure() {
    PUNA_TRY(manager::Loader::Measured measured, loader_.measure(hello_.entry, no_));
    opened_ = std::move(measured.opened);
    // It may be a while until it is told to load.
    ::malloc_trim(0);
    const uint64_t here = resident_bytes();
    const Footprint held = {{std::string(manager::kHost), here}};
    measured.need = with_drivers(std::move(measured.need));
    measured.need[std::string(manager::kHost)] += here + kServes;
    Json word = Json::object().set("bytes", manager::to_json(measured.need));
    words_.say("measured", word.set("held", manager::to_json(held)));
    return {};
  }

  Result<void> load(bool step_down) {
    // What was read of the file goes into the model: its tokenizer takes the room of the texts.
    const uint64_t before = resident_bytes() + kServes;
    PUNA_TRY(instance_, loader_.load(hello_.entry, {.step_down = step_down,
                                                    .cancel = &no_,
                                                    .memories = std::move(memories_),
                                                    .opened = std::move(opened_)}));
    const api::ServedModel& served = instance_->served();
    PUNA_TRY(const server::Options options, options_here());
    PUNA_TRY(server_, server::Server::listen(options));
    source_ = std::make_unique<Only>(served);
    server_->serve(*source_);
    ::malloc_trim(0);  // what was read of the file is gone
    // Nothing is planned to be less than what is there.
    Footprint bytes = with_drivers(instance_->held());
    uint64_t& host = bytes[std::string(manager::kHost)];
    const uint64_t planned = host + before, taken = resident_bytes();
    host = std::max(planned, taken);
    base::log_info("{:.1f} MiB of memory were planned, {:.1f} are taken.",
                   static_cast<double>(planned) / kMib, static_cast<double>(taken) / kMib);
    for (const auto& [device, n] : bytes) {
      if (device != manager::kHost)
        base::log_info("{:.1f} MiB of {} were planned.", static_cast<double>(n) / kMib, device);
    }
    Json ready = Json::object().set("bytes", manager::to_json(bytes));
    ready.set("facts", api::to_json(api::facts_of(served.loaded())));
    ready.set("props", api::llama::props_json(served));
    ready.set("file_bytes", served.file_bytes).set("n_texts", served.n_texts);
    words_.say("ready", std::move(ready));
    tells_.emplace([this](const std::stop_token& stop) { tell(stop); });
    return {};
  }

  void sleep() {
    tells_.reset();
    server_.reset();
    source_.reset();
    memories_ = instance_->remember();
    instance_.reset();
    ::malloc_trim(0);
    words_.say("asleep", Json::object().set("bytes", memories_ ? memories_->bytes() : 0));
  }

  // How much it has to do, whenever that changes.
  void tell(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kBetween{500};
    std::mutex mutex;
    std::condition_variable_any stopped;
    Json last;
    while (!stop.stop_requested()) {
      Json now = manager::to_json(instance_->served().status());
      if (now != last) words_.say("status", now);
      last = std::move(now);
      std::unique_lock lock(mutex);
      stopped.wait_for(lock, stop, kBetween, [] { return false; });
    }
  }

  Words& words_;
  const manager::Hello hello_;
  const GivenFlags given_, preset_;
  const std::atomic<bool> no_ = false;
  manager::InProcess loader_;
  std::unique_ptr<manager::Memories> memories_;
  std::unique_ptr<manager::Opened> opened_;  // between measuring and loading
  std::unique_ptr<manager::Instance> instance_;
  std::unique_ptr<Only> source_;
  std::unique_ptr<server::Server> server_;
  std::optional<std::jthread> tells_;
};

// As the parent reads them (manager/child.cpp).
void log_for_parent(base::LogLevel lowest) {
  base::set_log_sink(
      [](base::LogLevel level, std::string_view text) {
        constexpr std::array kLetters = {'D', 'I', 'W'};
        std::fprintf(stderr, "%c %.*s\n", kLetters[static_cast<size_t>(level)],
                     static_cast<int>(text.size()), text.data());
      },
      lowest);
}

}  // namespace

Result<int> run_child() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Words words;
  log_for_parent(base::LogLevel::kInfo);
  PUNA_TRY(const Json line, Orders::first());
  PUNA_TRY(manager::Hello hello, manager::read_hello(line));
  // It may have ended before it was to be told of.
  if (::getppid() != hello.parent) return 0;
  const Json* const debug = hello.extra.find("debug");
  if (debug && *debug == Json(true)) log_for_parent(base::LogLevel::kDebug);
  const Json none = Json::array();
  const auto flags_of = [&](const char* name) {
    const Json* const list = hello.extra.find(name);
    return serve::read_given(list ? *list : none);
  };
  PUNA_TRY(GivenFlags given, flags_of("given"));
  PUNA_TRY(GivenFlags preset, flags_of("preset"));
  base::commit_pages_at_once();
  Orders orders;
  orders.start(hello.socket);
  ChildProcess child(words, std::move(hello), std::move(given), std::move(preset));
  child.run(orders);
  return 0;
}

}  // namespace puna::cli
