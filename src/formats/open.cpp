#include "formats/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "formats/folder.h"
#include "formats/gguf.h"
#include "formats/hf_folder.h"
#include "formats/lfs_pointer.h"

namespace puna::formats {

namespace {

using base::ErrorCode;
using base::Result;
using base::Task;

// A container: how to tell it by its first bytes, and how to load it.
struct Container {
  std::string_view name;
  bool (*matches)(std::span<const std::byte> first_bytes);
  Task<Result<ModelFile>> (*load)(std::unique_ptr<io::ByteSource> source, OpenPart open_part);
};

constexpr Container kContainers[] = {
    {"GGUF", is_gguf, load_gguf},
};

Task<Result<ModelFile>> load(std::unique_ptr<io::ByteSource> source, OpenPart open_part) {
  std::array<std::byte, kLfsPointerStart.size()> first_bytes{};
  const std::span<std::byte> head =
      std::span(first_bytes)
          .first(static_cast<size_t>(std::min<uint64_t>(first_bytes.size(), source->size())));
  auto reading = io::read(*source, 0, head);
  PUNA_CO_TRY(co_await std::move(reading));
  for (const Container& container : kContainers) {
    if (!container.matches(head)) continue;
    auto task = container.load(std::move(source), std::move(open_part));
    co_return co_await std::move(task);
  }
  if (is_lfs_pointer(head)) co_return std::unexpected(lfs_pointer(source->name()));
  if (head.empty())
    co_return base::fail(ErrorCode::kCorrupt, fmt::format("{} is empty.", source->name()));
  uint32_t magic = 0;
  for (size_t i = std::min<size_t>(4, head.size()); i-- > 0;)
    magic = magic << 8 | static_cast<uint32_t>(head[i]);
  co_return base::fail(
      ErrorCode::kUnsupported,
      fmt::format(
          "{} is not a model file that is known (it begins with 0x{:08x}); GGUF files are "
          "supported, "
          "and folders of Hugging Face (*.safetensors) or MLC weights, opened by the folder.",
          source->name(), magic));
}

Task<Result<ModelFile>> load_path(std::string path, OpenPart open) {
  if (io::is_folder(path)) {
    auto folder = load_folder({std::move(path), std::move(open)});
    co_return co_await std::move(folder);
  }
  PUNA_CO_TRY(auto source, open(path));
  auto task = load(std::move(source), std::move(open));
  co_return co_await std::move(task);
}

// What `load` makes of a path, with every file that it read.
template <class Load>
Task<Result<ModelFile>> open_with(std::string path, OpenOptions options, Load load) {
  std::vector<std::string> paths;
  const OpenPart open = [options, &paths](const std::string& part) {
    auto source = options.map ? io::map_file(part) : io::open_file(part);
    // The part of a split file that is given is opened to see that it is one, and again in its
    // turn.
    std::erase(paths, part);
    if (source) paths.push_back(part);
    return source;
  };
  auto task = load(std::move(path), open);
  PUNA_CO_TRY(ModelFile file, co_await std::move(task));
  file.paths = std::move(paths);
  co_return std::move(file);
}

Task<Result<ModelFile>> load_encoder_path(std::string path, OpenPart open) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (!io::is_folder(path)) {
    auto loading = load_path(std::move(path), std::move(open));
    co_return co_await std::move(loading);
  }
  const ModelFolder folder{std::move(path), std::move(open)};
  auto loading = load_hf_encoder(folder);
  PUNA_CO_TRY_CONTEXT(ModelFile file, co_await std::move(loading),
                      fmt::format("While reading the encoder of the folder {}", folder.path));
  co_return std::move(file);
}

}  // namespace

Task<Result<ModelFile>> open_model(std::string path, OpenOptions options) {
  return open_with(std::move(path), options, load_path);
}

Task<Result<ModelFile>> open_encoder(std::string path, OpenOptions options) {
  return open_with(std::move(path), options, load_encoder_path);
}

Result<bool> has_encoder(const std::string& folder) {
  if (!io::is_folder(folder)) return false;
  const ModelFolder files{folder, [](const std::string& part) { return io::open_file(part); }};
  return base::run_until(has_hf_encoder(files), [] {});
}

Task<Result<ModelFile>> open_model(std::unique_ptr<io::ByteSource> source) {
  auto task = load(std::move(source), nullptr);
  co_return co_await std::move(task);
}

}  // namespace puna::formats
