// Drives parse_gguf over sources: a growing prefix for one file, then the parts of a split one.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "base/log.h"
#include "formats/gguf.h"
#include "formats/gguf_split.h"
#include "formats/gguf_vocabulary.h"
#include "formats/lfs_pointer.h"

namespace puna::formats {

namespace {

using base::ErrorCode;
using base::Result;
using base::Task;

constexpr size_t kNamedTensors = 3;

// Most headers fit: 49k tokens take 1.7 MB. Doubling from there keeps the work repeated below that
// of the last pass.
constexpr uint64_t kFirstPrefixBytes = uint64_t{2} << 20;

// A part of a split file may be a pointer where the first one is not.
Result<std::variant<GgufNeedMore, GgufHeader>> parse(const io::ByteSource& source,
                                                     std::span<const std::byte> prefix) {
  if (is_lfs_pointer(prefix)) return std::unexpected(lfs_pointer(source.name()));
  return parse_gguf(prefix, source.size());
}

Task<Result<GgufHeader>> read_header(io::ByteSource& source) {
  const uint64_t file_bytes = source.size();
  if (const auto mapped = source.mapped(); !mapped.empty()) {
    PUNA_CO_TRY(auto parsed, parse(source, mapped));
    if (auto* header = std::get_if<GgufHeader>(&parsed)) co_return std::move(*header);
    co_return base::fail(ErrorCode::kInternal,
                         "The GGUF parser asks for more than the whole file.");
  }
  uint64_t n = std::min(file_bytes, kFirstPrefixBytes);
  while (true) {
    if (n > kGgufMaxHeaderBytes) {
      co_return base::fail(ErrorCode::kUnsupported, fmt::format("The header is larger than {} MB.",
                                                                kGgufMaxHeaderBytes >> 20));
    }
    const std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[static_cast<size_t>(n)]);
    if (!bytes)
      co_return base::fail(ErrorCode::kOutOfMemory,
                           fmt::format("There is no memory for {} bytes of header.", n));
    const std::span<std::byte> prefix(bytes.get(), static_cast<size_t>(n));
    PUNA_CO_TRY(co_await io::read(source, 0, prefix));
    PUNA_CO_TRY(auto parsed, parse(source, prefix));
    if (auto* header = std::get_if<GgufHeader>(&parsed)) co_return std::move(*header);
    const uint64_t needed = std::get<GgufNeedMore>(parsed).prefix_bytes;
    if (n == file_bytes)
      co_return base::fail(ErrorCode::kInternal,
                           "The GGUF parser asks for more than the whole file.");
    n = std::min(file_bytes, std::max(needed, 2 * n));
  }
}

struct Split {
  uint64_t number = 0;  // from 0
  uint64_t count = 1;
  uint64_t n_tensors = 0;  // of all parts together; 0 when not said
};

Result<Split> read_split(const ModelFile& file) {
  Split split;
  PUNA_TRY(split.number, file.get_uint("split.no", 0));
  PUNA_TRY(split.count, file.get_uint("split.count", 1));
  PUNA_TRY(split.n_tensors, file.get_uint("split.tensors.count", 0));
  return split;
}

// What one file says, before its vocabulary is taken.
Task<Result<ModelFile>> load_part(std::unique_ptr<io::ByteSource> source) {
  ModelFile file;
  file.name = source->name();
  const std::string context = fmt::format("While reading {}", file.name);
  auto task = read_header(*source);
  PUNA_CO_TRY_CONTEXT(GgufHeader header, co_await std::move(task), context);
  file.metadata = std::move(header.metadata);
  file.stored_metadata = std::move(header.stored_metadata);
  file.tensors = std::move(header.tensors);
  file.sources.push_back(std::move(source));
  co_return std::move(file);
}

// Appends the tensors of the following part, which must belong to the same split.
Result<void> append_part(ModelFile& file, ModelFile part, const Split& whole, uint64_t number) {
  PUNA_TRY(const Split split, read_split(part));
  if (split.number != number || split.count != whole.count) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("{} says that it is part {} of {}, not part {} of {}.", part.name,
                                  split.number + 1, split.count, number + 1, whole.count));
  }
  for (Tensor& tensor : part.tensors) {
    tensor.source = static_cast<uint32_t>(number);
    file.tensors.push_back(std::move(tensor));
  }
  file.sources.push_back(std::move(part.sources.front()));
  return {};
}

Result<void> check_names(const ModelFile& file) {
  std::vector<std::string_view> names;
  names.reserve(file.tensors.size());
  for (const Tensor& tensor : file.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("Tensor \"{}\" appears in two parts of {}.", *twice, file.name));
}

// The other parts of a split file, given any one of them.
Task<Result<ModelFile>> load_parts(ModelFile given, Split split, OpenPart open_part) {
  if (!open_part) {
    co_return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("{} is part {} of {} of a split file; the other parts cannot be reached.",
                    given.name, split.number + 1, split.count));
  }
  const auto name = parse_split_name(given.name);
  if (!name || name->count != split.count || name->number != split.number + 1) {
    co_return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("{} is part {} of {} of a split file, but its name is not "
                    "NAME-{:05}-of-{:05}.gguf, so the other "
                    "parts cannot be found.",
                    given.name, split.number + 1, split.count, split.number + 1, split.count));
  }
  const std::string context =
      fmt::format("While loading the {} parts of {}", split.count, name->prefix);
  ModelFile file;
  for (uint32_t number = 1; number <= name->count; ++number) {
    PUNA_CO_TRY_CONTEXT(auto source, open_part(split_path(name->prefix, number, name->count)),
                        context);
    auto task = load_part(std::move(source));
    PUNA_CO_TRY_CONTEXT(ModelFile part, co_await std::move(task), context);
    if (number == 1) {
      file = std::move(part);
      PUNA_CO_TRY_CONTEXT(const Split first, read_split(file), context);
      if (first.number != 0 || first.count != split.count) {
        co_return base::fail(ErrorCode::kCorrupt,
                             fmt::format("{} says that it is part {} of {}, not part 1 of {}.",
                                         file.name, first.number + 1, first.count, split.count));
      }
      split = first;
    } else {
      PUNA_CO_TRY_CONTEXT(append_part(file, std::move(part), split, number - 1), context);
    }
  }
  if (split.n_tensors != 0 && split.n_tensors != file.tensors.size()) {
    co_return base::fail(
        ErrorCode::kCorrupt,
        fmt::format(
            "The {} parts of {} hold {} tensors together, not {} as \"split.tensors.count\" says.",
            split.count, name->prefix, file.tensors.size(), split.n_tensors));
  }
  PUNA_CO_TRY(check_names(file));
  co_return std::move(file);
}

// One line for all tensors that only an error stands for, should the model need them.
void warn_of_unusable_tensors(const ModelFile& file) {
  std::string named;
  size_t n = 0;
  for (const Tensor& tensor : file.tensors) {
    if (tensor.usable()) continue;
    if (++n > kNamedTensors) continue;
    const base::Error why = tensor.unusable();
    named += (n == 1 ? "" : " ") + why.message;
  }
  if (n == 0) return;
  base::log_warning("{}: {} of {} tensors cannot be used and {} passed over: {}{}", file.name, n,
                    file.tensors.size(), n == 1 ? "is" : "are", named,
                    n > kNamedTensors ? fmt::format(" And {} more.", n - kNamedTensors) : "");
}

}  // namespace

Task<Result<ModelFile>> load_gguf(std::unique_ptr<io::ByteSource> source, OpenPart open_part) {
  auto first = load_part(std::move(source));
  PUNA_CO_TRY(ModelFile file, co_await std::move(first));
  const std::string context = fmt::format("While reading {}", file.name);
  PUNA_CO_TRY_CONTEXT(const Split split, read_split(file), context);
  if (split.count > 1) {
    auto parts = load_parts(std::move(file), split, std::move(open_part));
    PUNA_CO_TRY(file, co_await std::move(parts));
  }
  file.index();
  warn_of_unusable_tensors(file);
  auto vocabulary = take_vocabulary(file.metadata);
  if (vocabulary) {
    file.vocabulary = *std::move(vocabulary);
    fit_vocabulary(file);
  } else {
    drop_vocabulary(file, std::move(vocabulary.error()));
  }
  co_return std::move(file);
}

}  // namespace puna::formats
