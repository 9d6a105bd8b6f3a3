#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "formats/lfs_pointer.h"

namespace puna::formats {

namespace {

using base::ErrorCode;
using base::Json;
using base::Result;

struct TypeName {
  std::string_view name;
  uint64_t bytes;
  std::optional<quant::Type> type;
};

// What files hold beside weights is listed and never read.
constexpr TypeName kTypes[] = {
    {"F32", 4, quant::Type::kF32}, {"F16", 2, quant::Type::kF16}, {"BF16", 2, quant::Type::kBf16},
    {"F64", 8, std::nullopt},      {"I64", 8, std::nullopt},      {"U64", 8, std::nullopt},
    {"I32", 4, std::nullopt},      {"U32", 4, std::nullopt},      {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},      {"I8", 1, std::nullopt},       {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},     {"F8_E4M3", 1, std::nullopt},  {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
};

std::unexpected<base::Error> bad(std::string_view tensor, std::string_view problem) {
  return base::fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" {}.", tensor, problem));
}

// A list of non-negative integers.
Result<std::vector<uint64_t>> counts(const Json& object, std::string_view key,
                                     std::string_view tensor) {
  const Json* list = object.find(key);
  if (!list || !list->is_array()) return bad(tensor, fmt::format("has no list \"{}\"", key));
  std::vector<uint64_t> out;
  for (const Json& item : list->items()) {
    if (!item.is_integer() || item.integer() < 0)
      return bad(tensor, fmt::format("has {} in its list \"{}\"", item.dump(), key));
    out.push_back(static_cast<uint64_t>(item.integer()));
  }
  return out;
}

Result<RawTensor> parse_tensor(const Json::Member& member, uint64_t data_offset,
                               uint64_t data_bytes) {
  const auto& [name, json] = member;
  RawTensor tensor;
  tensor.name = name;
  const Json* type_name = json.find("dtype");
  if (!type_name || !type_name->is_string()) return bad(name, "has no \"dtype\"");
  tensor.type_name = type_name->string();
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeName& t) { return t.name == tensor.type_name; });
  if (type == std::end(kTypes))
    return bad(name, fmt::format("has the unknown dtype \"{}\"", tensor.type_name));
  tensor.type = type->type;
  PUNA_TRY(tensor.shape, counts(json, "shape", name));
  PUNA_TRY(const std::vector<uint64_t> offsets, counts(json, "data_offsets", name));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return bad(name, fmt::format("has data offsets outside the {} bytes of data", data_bytes));
  }
  tensor.offset = data_offset + offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  uint64_t bytes = type->bytes;
  for (const uint64_t n : tensor.shape) {
    // Beyond the file is wrong whatever follows, unless a zero does.
    if (n != 0 && bytes > UINT64_MAX / n) return bad(name, "has a shape beyond all sizes");
    bytes *= n;
  }
  if (bytes != tensor.bytes) {
    return bad(name, fmt::format("has {} bytes of data where its shape and dtype {} take {}",
                                 tensor.bytes, tensor.type_name, bytes));
  }
  return tensor;
}

}  // namespace

Result<uint64_t> safetensors_header_bytes(std::span<const std::byte> first_bytes,
                                          uint64_t file_bytes) {
  if (first_bytes.size() < kSafetensorsLengthBytes || file_bytes < kSafetensorsLengthBytes) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The file has {} bytes, too few for safetensors.", file_bytes));
  }
  uint64_t n = 0;
  for (size_t i = kSafetensorsLengthBytes; i-- > 0;)
    n = n << 8 | static_cast<uint64_t>(first_bytes[i]);
  if (n > kSafetensorsMaxHeaderBytes || n > file_bytes - kSafetensorsLengthBytes) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The header is {} bytes long by its first bytes, in a file of {} "
                                  "bytes (at most {} are allowed).",
                                  n, file_bytes, kSafetensorsMaxHeaderBytes));
  }
  return n;
}

Result<std::vector<RawTensor>> parse_safetensors(std::string_view header, uint64_t file_bytes) {
  const uint64_t data_offset = kSafetensorsLengthBytes + header.size();
  if (data_offset > file_bytes)
    return base::fail(ErrorCode::kCorrupt, "The header is longer than the file.");
  PUNA_TRY(const Json json, Json::parse(header, /*max_depth=*/8));
  if (!json.is_object())
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The header is {}, not an object.", json.type_name()));
  std::vector<RawTensor> tensors;
  for (const Json::Member& member : json.members()) {
    if (member.first == "__metadata__") continue;
    PUNA_TRY(RawTensor tensor, parse_tensor(member, data_offset, file_bytes - data_offset));
    tensors.push_back(std::move(tensor));
  }
  std::ranges::sort(tensors, {}, [](const RawTensor& t) { return std::pair(t.offset, t.bytes); });
  const RawTensor* last = nullptr;
  for (const RawTensor& tensor : tensors) {
    if (tensor.bytes == 0) continue;
    if (last && tensor.offset < last->offset + last->bytes)
      return bad(tensor.name, fmt::format("overlaps \"{}\"", last->name));
    last = &tensor;
  }
  return tensors;
}

base::Task<Result<std::vector<RawTensor>>> load_safetensors(io::ByteSource& source) {
  auto checking = refuse_lfs_pointer(source);
  PUNA_CO_TRY(co_await std::move(checking));
  std::byte first_bytes[kSafetensorsLengthBytes];
  const auto n_first =
      static_cast<size_t>(std::min<uint64_t>(source.size(), kSafetensorsLengthBytes));
  const std::span<std::byte> first = std::span(first_bytes).first(n_first);
  auto first_read = io::read(source, 0, first);
  PUNA_CO_TRY(co_await std::move(first_read));
  PUNA_CO_TRY(const uint64_t n, safetensors_header_bytes(first, source.size()));
  std::string header(static_cast<size_t>(n), '\0');
  auto reading =
      io::read(source, kSafetensorsLengthBytes, std::as_writable_bytes(std::span(header)));
  PUNA_CO_TRY(co_await std::move(reading));
  co_return parse_safetensors(header, source.size());
}

Result<std::vector<std::string>> parse_safetensors_index(std::string_view text) {
  PUNA_TRY(const Json json, Json::parse(text, /*max_depth=*/8));
  const Json* map = json.find("weight_map");
  if (!map || !map->is_object())
    return base::fail(ErrorCode::kCorrupt, "There is no object \"weight_map\".");
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->members()) {
    if (!file.is_string() || file.string().empty() ||
        file.string().find_first_of("/\\") != std::string::npos || file.string() == "..") {
      return bad(tensor, fmt::format("is said to be in {}, which is no file name", file.dump()));
    }
    names.insert(file.string());
  }
  if (names.empty()) return base::fail(ErrorCode::kCorrupt, "The \"weight_map\" is empty.");
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace puna::formats
