#include "io/byte_source.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "io/test_sources.h"

using namespace puna;
using namespace puna::io;
using base::ErrorCode;

namespace {

// A file in the temporary folder, removed at the end.
struct TemporaryFile {
  std::string path =
      std::filesystem::temp_directory_path() / ("puna_io_test_" + std::to_string(::getpid()));
  explicit TemporaryFile(const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
};

base::Result<std::string> read_now(ByteSource& source, uint64_t offset, size_t n) {
  std::vector<std::byte> out(n);
  PUNA_TRY(base::run_until(read(source, offset, out),
                           [] { FAIL("the source should have answered already"); }));
  return std::string(reinterpret_cast<const char*>(out.data()), n);
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

void check_reads(ByteSource& source, const std::string& content) {
  CHECK(source.size() == content.size());
  CHECK(read_now(source, 0, content.size()).value() == content);
  CHECK(read_now(source, 3, 4).value() == content.substr(3, 4));
  CHECK(read_now(source, content.size(), 0).value().empty());
  CHECK(read_now(source, content.size() - 1, 2).error().code == ErrorCode::kInvalidArgument);
  CHECK(read_now(source, content.size() + 1, 0).error().code == ErrorCode::kInvalidArgument);
  CHECK(read_now(source, ~uint64_t{0}, 2).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace

TEST_CASE("a file gives the same bytes whether read or mapped") {
  const std::string content = "The quick brown fox.";
  TemporaryFile file(content);
  auto opened = open_file(file.path);
  REQUIRE(opened);
  check_reads(**opened, content);
  CHECK((*opened)->name() == file.path);
  CHECK((*opened)->mapped().empty());

  auto mapped = map_file(file.path);
  REQUIRE(mapped);
  check_reads(**mapped, content);
  CHECK((*mapped)->mapped().size() == content.size());
}

TEST_CASE("an empty file can be opened and mapped") {
  TemporaryFile file("");
  CHECK(open_file(file.path).value()->size() == 0);
  CHECK(map_file(file.path).value()->size() == 0);
}

TEST_CASE("memory gives its bytes, owned or viewed") {
  const std::string content = "0123456789";
  const std::vector<std::byte> kept = bytes_of(content);
  auto view = from_memory("view", std::span(kept));
  check_reads(*view, content);
  CHECK(view->mapped().data() == kept.data());
  auto owner = from_memory("owner", bytes_of(content));
  check_reads(*owner, content);
}

TEST_CASE("a missing file and a folder are told apart") {
  for (auto* open : {&open_file, &map_file}) {
    const auto missing = open("/nonexistent/model.gguf");
    REQUIRE(!missing);
    CHECK(missing.error().code == ErrorCode::kNotFound);
    CHECK(missing.error().message.find("/nonexistent/model.gguf") != std::string::npos);
    const auto folder = open("/");
    REQUIRE(!folder);
    CHECK(folder.error().code == ErrorCode::kIo);
    CHECK(folder.error().message.find("folder") != std::string::npos);
    CHECK(open("/dev/null").error().code == ErrorCode::kIo);
  }
}

TEST_CASE("a file that shrinks while open gives an error, not stale bytes") {
  TemporaryFile file("0123456789");
  auto source = open_file(file.path).value();
  REQUIRE(::truncate(file.path.c_str(), 4) == 0);
  CHECK(read_now(*source, 0, 4).value() == "0123");
  CHECK(read_now(*source, 2, 8).error().code == ErrorCode::kIo);
}

TEST_CASE("the failing source fails exactly at the read it was told to") {
  auto source = failing(from_memory("m", bytes_of("abcdef")), 2);
  CHECK(read_now(*source, 0, 1).value() == "a");
  CHECK(read_now(*source, 1, 1).value() == "b");
  CHECK(read_now(*source, 2, 1).error().code == ErrorCode::kIo);
  CHECK(read_now(*source, 3, 1).value() == "d");
}

TEST_CASE("a coroutine waits for a source that answers later") {
  ReadQueue queue;
  DeferredSource source(from_memory("m", bytes_of("abcdef")), queue);
  std::vector<std::byte> out(3);
  int waits = 0;
  auto result = base::run_until(read(source, 2, out), [&] {
    ++waits;
    REQUIRE(queue.pump());
  });
  CHECK(result);
  CHECK(waits == 1);
  CHECK(out == bytes_of("cde"));
}
