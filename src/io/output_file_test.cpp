#include "io/output_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace puna;
using namespace puna::io;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A folder of its own, gone at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("puna_output_test_{}", ::getpid());
  Folder() {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string at(std::string_view name) const { return (path / name).string(); }
  void put(std::string_view name, std::string_view text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }
  std::string text(std::string_view name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t n_entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), {}));
  }
};

base::Result<void> write_to(const std::string& path, std::string_view text,
                            std::span<const std::string> inputs = {}) {
  PUNA_TRY(const OutputPlace place, find_output(path, inputs));
  PUNA_TRY(const auto sink, open_output(place));
  PUNA_TRY(sink->write(bytes_of(text)));
  return sink->finish();
}

std::string error_of(const base::Result<void>& result) {
  return result ? "" : result.error().text();
}

}  // namespace

TEST_CASE("a file appears under its name only when it is finished") {
  const Folder folder;
  auto sink = open_output(find_output(folder.at("a"), {}).value()).value();
  CHECK(sink->write(bytes_of("abc")));
  CHECK(!fs::exists(folder.at("a")));
  CHECK(sink->write(bytes_of("de")));
  CHECK(sink->finish());
  CHECK(folder.text("a") == "abcde");
  CHECK(folder.n_entries() == 1);
}

TEST_CASE("a file sink given up leaves nothing behind, and what was there before") {
  const Folder folder;
  folder.put("a", "old");
  {
    auto sink = open_output(find_output(folder.at("a"), {}).value()).value();
    CHECK(sink->write(bytes_of("abc")));
  }
  CHECK(folder.text("a") == "old");
  CHECK(folder.n_entries() == 1);
}

TEST_CASE("a file that is replaced hands its permissions on") {
  const Folder folder;
  folder.put("a", "old");
  fs::permissions(folder.at("a"), fs::perms(0640));
  CHECK(error_of(write_to(folder.at("a"), "new")) == "");
  CHECK(folder.text("a") == "new");
  CHECK(fs::status(folder.at("a")).permissions() == fs::perms(0640));
}

TEST_CASE("someone's file of the temporary name is left alone") {
  const Folder folder;
  const std::string part = fmt::format("a.{}.part", ::getpid());
  folder.put(part, "mine");
  CHECK(error_of(write_to(folder.at("a"), "new")) == "");
  CHECK(folder.text("a") == "new");
  CHECK(folder.text(part) == "mine");
}

TEST_CASE("a name as long as a file system allows can be written") {
  const Folder folder;
  const std::string name(255, 'n');
  CHECK(error_of(write_to(folder.at(name), "new")) == "");
  CHECK(folder.text(name) == "new");
}

TEST_CASE("symbolic links are followed, those that lead nowhere yet too, and stay") {
  const Folder folder;
  folder.put("a", "old");
  fs::create_directory(folder.at("sub"));
  fs::create_symlink("../a", folder.at("sub/one"));
  fs::create_symlink("sub/one", folder.at("two"));
  fs::create_symlink("sub/none", folder.at("dangling"));
  fs::create_symlink("no/folder", folder.at("astray"));
  fs::create_symlink("round", folder.at("round"));
  CHECK(error_of(write_to(folder.at("two"), "new")) == "");
  CHECK(folder.text("a") == "new");
  CHECK(fs::is_symlink(folder.at("two")));
  CHECK(fs::is_symlink(folder.at("sub/one")));
  CHECK(error_of(write_to(folder.at("dangling"), "made")) == "");
  CHECK(folder.text("sub/none") == "made");
  CHECK(fs::is_symlink(folder.at("dangling")));
  CHECK(error_of(write_to(folder.at("astray"), "x")).find("does not exist") != std::string::npos);
  CHECK(!write_to(folder.at("round"), "x"));
}

TEST_CASE("an output that is an input is refused by whatever name") {
  const Folder folder;
  folder.put("in", "input");
  fs::create_symlink("in", folder.at("link"));
  fs::create_hard_link(folder.at("in"), folder.at("hard"));
  const std::string inputs[] = {"no file", folder.at("in")};
  for (const char* name : {"in", "./in", "link", "hard"}) {
    CAPTURE(name);
    const auto done = write_to(folder.at(name), "new", inputs);
    REQUIRE(!done);
    CHECK(done.error().code == base::ErrorCode::kUsage);
    CHECK(done.error().message.find("destroy") != std::string::npos);
  }
  CHECK(folder.text("in") == "input");
  CHECK(error_of(write_to(folder.at("other"), "new", inputs)) == "");
}

TEST_CASE("what cannot be a file is refused, with the name and what it is") {
  const Folder folder;
  folder.put("file", "kept");
  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, folder.at("socket").c_str(), sizeof(address.sun_path) - 1);
  REQUIRE(::bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {folder.path.string(), "is a folder"},
      {folder.at("new/"), "ends as a folder does"},
      {folder.at("none/out"), "does not exist"},
      {folder.at("file/out"), "Not a directory"},
      {folder.at("socket"), "is a socket"},
      {"/dev/fd/1000000", "Bad file descriptor"},
  };
  for (const auto& [path, part] : cases) {
    CAPTURE(path);
    CHECK(error_of(write_to(path, "x")).find(part) != std::string::npos);
  }
  ::close(s);
  CHECK(folder.text("file") == "kept");
  CHECK(folder.n_entries() == 2);
}

TEST_CASE("a FIFO with a reader and a device are written into and stay what they are") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  const int reader = ::open(folder.at("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(find_output(folder.at("fifo"), {}).value().kind == OutputPlace::Kind::kStream);
  CHECK(error_of(write_to(folder.at("fifo"), "abc")) == "");
  char got[8];
  CHECK(::read(reader, got, sizeof(got)) == 3);
  ::close(reader);
  CHECK(fs::is_fifo(folder.at("fifo")));
  CHECK(folder.n_entries() == 1);
  CHECK(error_of(write_to("/dev/null", "abc")) == "");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a full device is an error of the write") {
  if (!fs::is_character_file("/dev/full")) return;
  const auto done = write_to("/dev/full", "abc");
  REQUIRE(!done);
  CHECK(done.error().code == base::ErrorCode::kIo);
  CHECK(done.error().message.find("/dev/full") != std::string::npos);
}

TEST_CASE("a descriptor is written into where it stands") {
  const Folder folder;
  const int fd = ::open(folder.at("log").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(fd, "head ", 5) == 5);
  const std::string path = fmt::format("/dev/fd/{}", fd);
  const OutputPlace place = find_output(path, {}).value();
  CHECK(place.kind == OutputPlace::Kind::kDescriptor);
  CHECK(!place.is_stdout);
  CHECK(error_of(write_to(path, "body")) == "");
  CHECK(folder.text("log") == "head body");
  const std::string inputs[] = {folder.at("log")};
  CHECK(!find_output(path, inputs));
  ::close(fd);
}
