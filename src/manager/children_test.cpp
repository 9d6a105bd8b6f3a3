// Processes of models, played by a shell: those that do as they should, and those that do not.
#include "manager/children.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "manager/child_words.h"
#include "manager/line_cutter.h"
#include "manager/manager.h"
#include "manager/process.h"

using namespace puna;
using namespace puna::manager;
using namespace std::chrono_literals;
using base::ErrorCode;
using base::Json;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr auto kPatience = 60s;

// What is ready; the braces of JSON are in single quotes of a shell.
std::string ready() {
  Json out = Json::object();
  out.set("is", "ready").set("bytes", to_json(Footprint{{"host", 7}}));
  return out.set("facts", api::to_json(api::ModelFacts{})).set("n_texts", 3).dump();
}

// Answers as it should; `at_load` comes before it says that it is ready.
std::string good(const std::string& at_load = "") {
  return "read hello; while read order; do case \"$order\" in "
         "*measure*) echo '{\"is\":\"measured\",\"bytes\":{\"host\":5},\"held\":{\"host\":2}}';; "
         "*load*) " +
         at_load + " echo '" + ready() +
         "'; echo '{\"is\":\"status\",\"running\":2}';; "
         "*sleep*) echo '{\"is\":\"asleep\",\"bytes\":9}';; esac; done";
}

Child::Program shell(const std::string& script, std::chrono::milliseconds stall = kPatience) {
  return {.path = "/bin/sh", .arguments = {"sh", "-c", script}, .stall = stall, .grace = 5s};
}

std::shared_ptr<Children> children(const std::string& script,
                                   std::chrono::milliseconds stall = kPatience) {
  auto made = Children::make(shell(script, stall), [](const Entry&) { return Json::object(); });
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().text()));
  return *std::move(made);
}

Entry entry(const std::string& id) {
  return {.id = id, .aliases = {id}, .path = "/models/" + id + ".gguf"};
}

base::Error error_of_load(Children& all, const std::atomic<bool>* cancel = nullptr) {
  const auto loaded = all.load(entry("one"), {.cancel = cancel, .memories = {}});
  REQUIRE_FALSE(loaded.has_value());
  return loaded.error();
}

void wait_until(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

TEST_CASE("a process is measured, loads, tells of itself, sleeps and comes again") {
  const auto all = children(good());
  const std::atomic<bool> no = false;
  auto measured = all->measure(entry("one"), no);
  REQUIRE_MESSAGE(measured.has_value(), measured.error().text());
  CHECK(measured->need == Footprint{{"host", 5}});
  CHECK(measured->opened->held() == Footprint{{"host", 2}});
  auto one = all->load(entry("one"), {.opened = std::move(measured->opened)});
  REQUIRE_MESSAGE(one.has_value(), one.error().text());
  CHECK((*one)->held() == Footprint{{"host", 7}});
  const api::ServedModel& served = (*one)->served();
  CHECK(served.id == "one");
  CHECK(served.n_texts == 3);
  CHECK(served.hosts == nullptr);
  CHECK(served.remote->socket().ends_with(".sock"));
  wait_until([&] { return served.status().n_running == 2; });
  auto memories = (*one)->remember();
  REQUIRE(memories);
  CHECK(memories->bytes() == 9);
  const std::string socket = served.remote->socket();
  one->reset();
  auto again = all->load(entry("one"), {.cancel = nullptr, .memories = std::move(memories)});
  REQUIRE(again.has_value());
  CHECK((*again)->served().remote->socket() == socket);
}

TEST_CASE("the process that has measured a model loads it, unless it has ended") {
  // It says on its stderr who it is, and when it ends.
  std::mutex mutex;
  std::vector<std::string> said;
  const auto n_said = [&](std::string_view what) {
    const std::lock_guard lock(mutex);
    return std::ranges::count_if(said, [&](const auto& each) { return each.contains(what); });
  };
  base::set_log_sink(
      [&](base::LogLevel, std::string_view text) {
        const std::lock_guard lock(mutex);
        said.emplace_back(text);
      },
      base::LogLevel::kInfo);
  const std::atomic<bool> no = false;
  const auto all = children("echo begun >&2; " + good() + "; echo over >&2");
  auto measured = all->measure(entry("one"), no);
  REQUIRE(measured.has_value());
  auto one = all->load(entry("one"), {.opened = std::move(measured->opened)});
  REQUIRE(one.has_value());
  CHECK((*one)->served().remote->socket().ends_with("/0.sock"));
  one->reset();
  CHECK(n_said("begun") == 1);
  CHECK(n_said("over") == 1);
  // Nobody wants its model any more.
  measured = all->measure(entry("one"), no);
  REQUIRE(measured.has_value());
  measured->opened.reset();
  CHECK(n_said("over") == 2);
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kInfo);
  const auto dies = children(
      "read hello; read order; case \"$order\" in *measure*) "
      "echo '{\"is\":\"measured\",\"bytes\":{},\"held\":{}}'; exit;; "
      "*) echo '" +
      ready() + "'; read more;; esac");
  measured = dies->measure(entry("one"), no);
  REQUIRE(measured.has_value());
  std::unique_ptr<Instance> other;
  wait_until([&] {
    auto loaded = dies->load(entry("one"), {.opened = std::move(measured->opened)});
    if (loaded) other = *std::move(loaded);
    return other != nullptr;
  });
  CHECK(other->served().remote->socket().ends_with(".sock"));
}

TEST_CASE("a load that gets no further is given up, and one that does is not") {
  const auto hung = children("read hello; sleep 1000", 100ms);
  const base::Error error = error_of_load(*hung);
  CHECK(error.code == ErrorCode::kNetwork);
  CHECK(error.message.find("--load-timeout") != std::string::npos);
  const auto slow = children(good("for i in 1 2 3 4 5 6 7 8; do sleep 0.2; echo "
                                  "\"{\\\"is\\\":\\\"loading\\\",\\\"done\\\":$i}\"; done;"),
                             1200ms);
  CHECK(slow->load(entry("one"), {}).has_value());
  const auto stuck =
      children(good("while sleep 0.05; do echo '{\"is\":\"loading\",\"done\":1}'; done;"), 300ms);
  CHECK(error_of_load(*stuck).code == ErrorCode::kNetwork);
}

TEST_CASE("a load that nobody wants any more ends") {
  const auto hung = children("read hello; sleep 1000");
  std::atomic<bool> cancel = false;
  std::thread changes_mind([&] {
    std::this_thread::sleep_for(50ms);
    cancel = true;
  });
  CHECK(error_of_load(*hung, &cancel).code == ErrorCode::kCancelled);
  changes_mind.join();
}

TEST_CASE("a process that ends while it loads says how, and its last words") {
  const auto exits = children("read hello; read order; echo 'E out of luck' >&2; exit 3");
  base::Error error = error_of_load(*exits);
  CHECK(error.code == ErrorCode::kNetwork);
  CHECK(error.message ==
        "The process that runs the model \"one\" has ended: It has ended with the exit code 3. It "
        "said last: \"E out of luck\"");
  const auto killed = children("read hello; read order; kill -9 $$");
  error = error_of_load(*killed);
  CHECK(error.message.find("by the signal 9 (Killed)") != std::string::npos);
  const auto at_once = children("exit 0");
  CHECK(error_of_load(*at_once).message.find("exit code 0") != std::string::npos);
}

TEST_CASE("what a process says is wrong arrives with its code") {
  const auto fails = children(
      "read hello; read order; echo "
      "'{\"is\":\"failed\",\"code\":\"out_of_memory\",\"message\":\"No "
      "room.\"}'; read order");
  const base::Error error = error_of_load(*fails);
  CHECK(error.code == ErrorCode::kOutOfMemory);
  CHECK(error.message == "No room.");
}

TEST_CASE("a process that floods its stderr, or says what nobody understands, harms nobody") {
  std::atomic<size_t> n_lines = 0, longest = 0;
  base::set_log_sink(
      [&](base::LogLevel, std::string_view text) {
        ++n_lines;
        longest = std::max(longest.load(), text.size());
      },
      base::LogLevel::kInfo);
  const auto floods = children(
      good("yes 'a line of the flood' | head -c 20000000 >&2; "
           "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo >&2; echo nonsense; echo '[1]'; "
           "echo '{\"is\":7}'; head -c 3000000 /dev/zero; echo;"));
  CHECK(floods->load(entry("one"), {}).has_value());
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kInfo);
  CHECK(n_lines > 0);
  CHECK(n_lines < 20'000);  // of about a million
  CHECK(longest < 5'000);
}

TEST_CASE("a process that is killed is known to be, and no other is") {
  const auto all = children(good("echo \"pid $$\" >&2;"));
  std::atomic<int> pid = 0;
  base::set_log_sink(
      [&](base::LogLevel, std::string_view text) {
        // What the two say may be read in either order.
        constexpr std::string_view kSays = "other: pid ";
        if (const size_t at = text.find(kSays); at != std::string_view::npos)
          pid = std::atoi(std::string(text.substr(at + kSays.size())).c_str());
      },
      base::LogLevel::kInfo);
  auto one = all->load(entry("one"), {}), other = all->load(entry("other"), {});
  REQUIRE((one && other));
  wait_until([&] { return pid > 0; });
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kInfo);
  std::promise<std::string> died;
  std::atomic<bool> wrong = false;
  (*one)->when_died([&](const base::Error&) { wrong = true; });
  (*other)->when_died([&](const base::Error& error) { died.set_value(error.text()); });
  REQUIRE(::kill(pid, SIGKILL) == 0);
  auto text = died.get_future();
  REQUIRE(text.wait_for(kPatience) == std::future_status::ready);
  CHECK(text.get().find("\"other\" has ended: It was ended by the signal 9") != std::string::npos);
  CHECK_FALSE(wrong);
  // Who asks later is told as well.
  bool told = false;
  (*other)->when_died([&](const base::Error&) { told = true; });
  CHECK(told);
}

TEST_CASE("a process that does not end when it is asked to is ended") {
  auto program = shell("trap '' TERM HUP; read hello; while true; do sleep 0.05; done");
  program.grace = 50ms;
  auto child = Child::start(program, "one");
  REQUIRE(child.has_value());
  (*child)->tell(Json::object());
  child->reset();  // returns
}

TEST_CASE("a manager shows a process that has died, and starts another after a pause") {
  Options options;
  options.entries = [] { return Result<std::vector<Entry>>({entry("one"), entry("two")}); };
  // It dies as soon as it has been loaded for a while.
  const auto all = children(good("(sleep 0.3; kill -9 $$) &"));
  std::atomic<int> n_granted = 0;  // what is granted as the test ends still counts
  Manager manager(std::move(options), all);
  CHECK(manager.is_remote());
  std::vector<std::shared_ptr<void>> waiting;
  const auto ask = [&] {
    waiting.push_back(manager.acquire({.name = "one"}, [&](const Result<api::ModelLease>& lease) {
      n_granted += lease ? 1 : 0;
    }));
  };
  ask();
  wait_until([&] { return n_granted == 1; });
  const auto one = [&] {
    const auto list = manager.list();
    REQUIRE(list.size() == 2);
    return list[0];
  };
  wait_until([&] { return !one().error.empty(); });
  CHECK(one().error.find("by the signal 9") != std::string::npos);
  CHECK(one().held.empty());
  std::promise<std::string> refused;
  const auto too_early =
      manager.acquire({.name = "one"}, [&](const Result<api::ModelLease>& lease) {
        refused.set_value(lease ? "" : lease.error().text());
      });
  CHECK(refused.get_future().get().find("It is tried again in 1 s") != std::string::npos);
  wait_until([&] {
    ask();
    return n_granted >= 2;
  });
}

TEST_CASE("where no descriptors are left, nothing is started, and that is what is said") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  REQUIRE(next >= 0);
  ::close(next);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(next) + 3;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  const auto child = Child::start(shell(good()), "one");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(child.has_value());
  CHECK(child.error().message.find("descriptors of the server are in use (ulimit -n)") !=
        std::string::npos);
  const int same = ::dup(0);  // nothing was left open
  CHECK(same == next);
  ::close(same);
}

TEST_CASE("a child gets no descriptor of its parent") {
  const int file = ::open("/dev/null", O_RDONLY);
  auto started = Process::start("/bin/sh", {"sh", "-c", "ls /proc/$$/fd; read x"});
  ::close(file);
  REQUIRE(started.has_value());
  std::string said(100, '\0');
  wait_until([&] {
    const ssize_t n = ::read((*started)->output(), said.data(), said.size());
    if (n > 0) said.resize(static_cast<size_t>(n));
    return n > 0;
  });
  CHECK(said == "0\n1\n2\n");
}

TEST_CASE("a folder of sockets is nobody else's, and what was left behind goes") {
  std::string parent = fs::temp_directory_path() / "puna-folders-XXXXXX";
  REQUIRE(::mkdtemp(parent.data()));
  {
    const auto living = SocketFolder::make_in(parent);
    REQUIRE(living.has_value());
    struct stat about{};
    REQUIRE(::stat((*living)->path().c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0700);
    const std::string dead = parent + "/puna-models-abcdef";
    fs::create_directory(dead);
    std::ofstream(dead + "/lock") << "";
    std::ofstream(dead + "/3.sock") << "";
    const std::string others = parent + "/something";
    fs::create_directory(others);
    const auto second = SocketFolder::make_in(parent);
    REQUIRE(second.has_value());
    CHECK_FALSE(fs::exists(dead));
    CHECK(fs::exists(others));
    CHECK(fs::exists((*living)->path()));
  }
  CHECK(std::distance(fs::directory_iterator(parent), fs::directory_iterator()) == 1);
  CHECK_FALSE(SocketFolder::make_in(parent + "/missing").has_value());
  CHECK(SocketFolder::make_in(parent + std::string(100, 'x')).error().message.find("too long") !=
        std::string::npos);
  fs::remove_all(parent);
}

TEST_CASE("lines are the same wherever they are cut, and no more than may come") {
  const std::string text = "one\n\ntwo and more\nthree";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineCutter cutter({.most_bytes = 8});
    std::string lines;
    const auto told = [&](std::string_view line) { lines += std::string(line) + "|"; };
    for (const std::string& piece : {text.substr(0, cut), text.substr(cut)})
      cutter.put(piece, {}, told, [](uint64_t) {});
    CHECK(lines == "one||two and |");
    CHECK(cutter.take_rest() == "three");
  }
  LineCutter cutter({.most_bytes = 8, .most_lines = 2});
  uint64_t n_told = 0, n_dropped = 0;
  const auto put = [&](std::string_view piece, std::chrono::milliseconds at) {
    cutter.put(
        piece, LineCutter::Clock::time_point(1h + at), [&](std::string_view) { ++n_told; },
        [&](uint64_t n) { n_dropped += n; });
  };
  put("1\n2\n3\n4\n5\n", 0ms);
  CHECK(n_told == 2);
  put("6\n", 1000ms);
  CHECK(n_told == 3);
  CHECK(n_dropped == 3);
}

TEST_CASE("words of the border are read as they were said") {
  Hello hello;
  hello.entry = {.id = "one", .aliases = {"a", "b"}, .tags = {"t"}, .path = "/p", .created = 5};
  hello.entry.digest = "d";
  hello.socket = "/s.sock";
  hello.parent = 7;
  hello.extra = Json::array().push(1);
  const auto read = read_hello(to_json(hello));
  REQUIRE(read.has_value());
  CHECK(to_json(*read) == to_json(hello));
  CHECK_FALSE(read_hello(Json::object()).has_value());
  service::HostStatus status;
  status.n_running = 3;
  status.n_prompt_tokens = 1ull << 40;
  status.steps.n_steps = 9;
  status.device_lost = true;
  CHECK(to_json(read_status(to_json(status))) == to_json(status));
  CHECK(read_status(Json()).n_running == 0);
  CHECK_FALSE(read_footprint(*Json::parse(R"({"host":-1})")).has_value());
  CHECK_FALSE(read_footprint(Json(3)).has_value());
  const base::Error error = read_error(to_json(base::Error{ErrorCode::kDevice, "No.", {"While"}}));
  CHECK(error.code == ErrorCode::kDevice);
  CHECK(error.message == "No. - While");
}
