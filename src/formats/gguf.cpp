#include "formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "formats/gguf_cursor.h"

namespace puna::formats {

static_assert(std::endian::native == std::endian::little, "GGUF is read without swapping bytes");

namespace {

using base::ErrorCode;

constexpr uint64_t kMinPairBytes = 8 + 4 + 1;        // key length, type, one byte of value
constexpr uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;  // name length, dimensions, type, offset
constexpr uint64_t kMinListBytes = 4 + 8;            // of a list inside a list: type, count
constexpr uint32_t kMaxDimensions = 4;
constexpr int kMaxListDepth = 8;  // of lists inside lists

template <class Stored, class Kept>
bool read_scalar(GgufCursor& in, Value& out) {
  Stored stored{};
  if (!in.read(stored)) return false;
  out = static_cast<Kept>(stored);
  return true;
}

// Some writers have bytes beyond 1 for true.
bool read_bool(GgufCursor& in, bool& out) {
  uint8_t byte = 0;
  if (!in.read(byte)) return false;
  out = byte != 0;
  return true;
}

template <class Stored, class Kept>
bool read_array(GgufCursor& in, uint64_t count, Value& out) {
  if (!in.require(count, sizeof(Stored))) return false;
  auto& kept = out.emplace<std::vector<Kept>>();
  kept.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    Stored stored{};
    if (!in.read(stored)) return false;
    kept.push_back(static_cast<Kept>(stored));
  }
  return true;
}

bool read_bools(GgufCursor& in, uint64_t count, Value& out) {
  if (!in.require(count, 1)) return false;
  auto& kept = out.emplace<std::vector<bool>>();
  kept.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    bool b = false;
    if (!read_bool(in, b)) return false;
    kept.push_back(b);
  }
  return true;
}

bool read_strings(GgufCursor& in, uint64_t count, Value& out) {
  if (!in.require(count, sizeof(uint64_t))) return false;
  auto& kept = out.emplace<std::vector<std::string>>();
  kept.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view s;
    if (!in.read_string(s)) return false;
    kept.emplace_back(s);
  }
  return true;
}

bool read_array(GgufCursor& in, int depth, Value& out);

bool read_lists(GgufCursor& in, uint64_t count, int depth, Value& out) {
  if (depth == kMaxListDepth)
    return in.unsupported(fmt::format("nests more than {} lists", kMaxListDepth));
  if (!in.require(count, kMinListBytes)) return false;
  auto& kept = out.emplace<ListOfLists>().lists;
  kept.resize(static_cast<size_t>(count));
  return std::all_of(kept.begin(), kept.end(),
                     [&](Value& list) { return read_array(in, depth + 1, list); });
}

bool read_array(GgufCursor& in, int depth, Value& out) {
  uint32_t type = 0;
  uint64_t count = 0;
  if (!in.read(type) || !in.read(count)) return false;
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::kU8:
      return read_array<uint8_t, uint64_t>(in, count, out);
    case GgufValueType::kI8:
      return read_array<int8_t, int64_t>(in, count, out);
    case GgufValueType::kU16:
      return read_array<uint16_t, uint64_t>(in, count, out);
    case GgufValueType::kI16:
      return read_array<int16_t, int64_t>(in, count, out);
    case GgufValueType::kU32:
      return read_array<uint32_t, uint64_t>(in, count, out);
    case GgufValueType::kI32:
      return read_array<int32_t, int64_t>(in, count, out);
    case GgufValueType::kF32:
      return read_array<float, double>(in, count, out);
    case GgufValueType::kBool:
      return read_bools(in, count, out);
    case GgufValueType::kString:
      return read_strings(in, count, out);
    case GgufValueType::kArray:
      return read_lists(in, count, depth, out);
    case GgufValueType::kU64:
      return read_array<uint64_t, uint64_t>(in, count, out);
    case GgufValueType::kI64:
      return read_array<int64_t, int64_t>(in, count, out);
    case GgufValueType::kF64:
      return read_array<double, double>(in, count, out);
  }
  return in.corrupt(fmt::format("is an array of values of unknown type {}", type));
}

bool read_value(GgufCursor& in, Value& out) {
  uint32_t type = 0;
  if (!in.read(type)) return false;
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::kU8:
      return read_scalar<uint8_t, uint64_t>(in, out);
    case GgufValueType::kI8:
      return read_scalar<int8_t, int64_t>(in, out);
    case GgufValueType::kU16:
      return read_scalar<uint16_t, uint64_t>(in, out);
    case GgufValueType::kI16:
      return read_scalar<int16_t, int64_t>(in, out);
    case GgufValueType::kU32:
      return read_scalar<uint32_t, uint64_t>(in, out);
    case GgufValueType::kI32:
      return read_scalar<int32_t, int64_t>(in, out);
    case GgufValueType::kF32:
      return read_scalar<float, double>(in, out);
    case GgufValueType::kBool:
      return read_bool(in, out.emplace<bool>());
    case GgufValueType::kString: {
      std::string_view s;
      if (!in.read_string(s)) return false;
      out = std::string(s);
      return true;
    }
    case GgufValueType::kArray:
      return read_array(in, /*depth=*/1, out);
    case GgufValueType::kU64:
      return read_scalar<uint64_t, uint64_t>(in, out);
    case GgufValueType::kI64:
      return read_scalar<int64_t, int64_t>(in, out);
    case GgufValueType::kF64:
      return read_scalar<double, double>(in, out);
  }
  return in.corrupt(fmt::format("has the unknown value type {}", type));
}

bool read_metadata(GgufCursor& in, uint64_t count, GgufHeader& header) {
  in.describe("The metadata");
  if (!in.require(count, kMinPairBytes)) return false;
  header.metadata.reserve(static_cast<size_t>(count));
  header.stored_metadata.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t start = in.position();
    std::string_view key;
    in.describe("The name of a metadata key");
    if (!in.read_string(key)) return false;
    if (key.empty()) return in.corrupt("is empty");
    in.describe("The value of metadata key", key);
    Value value;
    if (!read_value(in, value)) return false;
    header.metadata.emplace_back(std::string(key), std::move(value));
    header.stored_metadata.push_back({start, in.position() - start});
  }

  std::vector<std::string_view> keys;
  keys.reserve(header.metadata.size());
  for (const auto& [key, value] : header.metadata) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) {
    return in.fail(ErrorCode::kCorrupt,
                   fmt::format("The metadata key \"{}\" appears twice.", *twice));
  }
  return true;
}

bool read_alignment(GgufCursor& in, GgufHeader& header) {
  for (const auto& [key, value] : header.metadata) {
    if (key != "general.alignment") continue;
    const auto alignment = as_uint(key, value);
    if (!alignment || !std::has_single_bit(*alignment) || *alignment > (uint64_t{1} << 30)) {
      return in.fail(
          ErrorCode::kCorrupt,
          fmt::format("The metadata key \"general.alignment\" is {}, not a power of two.",
                      describe(value)));
    }
    header.alignment = *alignment;
  }
  return true;
}

// Bytes of a tensor, or false with the reason. A shape that its type cannot have is a problem of
// this tensor alone, which no model may need.
bool size_tensor(GgufCursor& in, Tensor& tensor) {
  const bool is_empty = std::ranges::count(tensor.shape, uint64_t{0}) > 0;
  uint64_t elements = is_empty ? 0 : 1;
  for (const uint64_t n : tensor.shape) {
    if (!is_empty && elements > std::numeric_limits<uint64_t>::max() / n) {
      return in.corrupt(fmt::format("has dimensions ({}) whose product overflows",
                                    fmt::join(tensor.shape, " x ")));
    }
    elements *= n;
  }
  if (tensor.unknown_type) return true;
  const quant::TypeInfo& type = quant::info(tensor.type);
  if (tensor.shape.size() > kMaxDimensions) {
    tensor.problem =
        fmt::format("has {} dimensions, more than {}", tensor.shape.size(), kMaxDimensions);
    return true;
  }
  if (tensor.columns() % type.block_elements != 0) {
    tensor.problem = fmt::format("has rows of {} elements, not a whole number of {} blocks ({})",
                                 tensor.columns(), type.name, type.block_elements);
    return true;
  }
  const uint64_t blocks = elements / type.block_elements;
  if (blocks > std::numeric_limits<uint64_t>::max() / type.block_bytes) {
    return in.corrupt(
        fmt::format("has dimensions ({}) whose bytes overflow", fmt::join(tensor.shape, " x ")));
  }
  tensor.bytes = blocks * type.block_bytes;
  return true;
}

bool read_tensor(GgufCursor& in, Tensor& tensor) {
  std::string_view name;
  in.describe("The name of a tensor");
  if (!in.read_string(name)) return false;
  if (name.empty()) return in.corrupt("is empty");
  in.describe("Tensor", name);
  tensor.name = name;
  uint32_t n_dimensions = 0;
  if (!in.read(n_dimensions)) return false;
  if (!in.require(n_dimensions, sizeof(uint64_t))) return false;
  tensor.shape.resize(n_dimensions);
  for (uint32_t i = 0; i < n_dimensions; ++i) {
    if (!in.read(tensor.shape[n_dimensions - 1 - i]))
      return false;  // GGUF has the contiguous dimension first
  }
  uint32_t type_id = 0;
  if (!in.read(type_id)) return false;
  if (const quant::TypeInfo* type = quant::find_gguf(type_id)) {
    tensor.type = type->type;
  } else {
    tensor.unknown_type = type_id;
  }
  return in.read(tensor.offset) && size_tensor(in, tensor);
}

// Turns offsets into absolute ones and checks where the tensors lie.
bool place_tensors(GgufCursor& in, GgufHeader& header) {
  const uint64_t mask = header.alignment - 1;
  header.data_offset = (in.position() + mask) & ~mask;
  // Less than nothing when the file ends inside the padding: then not even an empty tensor fits.
  const bool has_data = in.file_bytes() >= header.data_offset;
  const uint64_t data_bytes = has_data ? in.file_bytes() - header.data_offset : 0;
  const auto fail = [&](const Tensor& tensor, std::string_view problem) {
    return in.fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" {}.", tensor.name, problem));
  };
  for (Tensor& tensor : header.tensors) {
    if (tensor.offset % header.alignment != 0) {
      return fail(
          tensor,
          fmt::format("begins at byte {} of the tensor data, not a multiple of the alignment ({})",
                      tensor.offset, header.alignment));
    }
    if (!has_data || tensor.bytes > data_bytes || tensor.offset > data_bytes - tensor.bytes) {
      return fail(tensor,
                  fmt::format("has {} bytes at byte {} of the tensor data (which begins at byte "
                              "{}), but the file has only "
                              "{} bytes: it is cut off or damaged",
                              tensor.bytes, tensor.offset, header.data_offset, in.file_bytes()));
    }
    tensor.offset += header.data_offset;
  }

  std::vector<const Tensor*> sorted;
  sorted.reserve(header.tensors.size());
  for (const Tensor& tensor : header.tensors) {
    if (tensor.bytes > 0) sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Tensor* a, const Tensor* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->offset < sorted[i - 1]->offset + sorted[i - 1]->bytes) {
      return fail(*sorted[i], fmt::format("overlaps tensor \"{}\" at byte {}", sorted[i - 1]->name,
                                          sorted[i]->offset));
    }
  }
  sorted.clear();
  for (const Tensor& tensor : header.tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const Tensor* a, const Tensor* b) { return a->name < b->name; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->name == sorted[i - 1]->name) return fail(*sorted[i], "appears twice");
  }
  return true;
}

bool read_header(GgufCursor& in, GgufHeader& header) {
  uint32_t magic = 0;
  if (!in.read(magic) || !in.read(header.version)) return false;
  if (magic == std::byteswap(kGgufMagic) ||
      (magic == kGgufMagic && header.version != 0 && header.version << 16 == 0)) {
    return in.fail(
        ErrorCode::kUnsupported,
        "The file is a big-endian GGUF, which is not supported: convert it to little-endian.");
  }
  if (magic != kGgufMagic) {
    return in.fail(ErrorCode::kCorrupt,
                   fmt::format("The file begins with 0x{:08x}, not with \"GGUF\".", magic));
  }
  if (header.version != 2 && header.version != 3) {
    return in.fail(
        ErrorCode::kUnsupported,
        fmt::format("The file has GGUF version {}; 2 and 3 are supported.", header.version));
  }
  uint64_t n_tensors = 0;
  uint64_t n_pairs = 0;
  if (!in.read(n_tensors) || !in.read(n_pairs)) return false;
  if (!read_metadata(in, n_pairs, header) || !read_alignment(in, header)) return false;
  in.describe("The tensor list");
  if (!in.require(n_tensors, kMinTensorBytes)) return false;
  header.tensors.resize(static_cast<size_t>(n_tensors));
  for (Tensor& tensor : header.tensors) {
    if (!read_tensor(in, tensor)) return false;
  }
  return place_tensors(in, header);
}

}  // namespace

base::Result<std::variant<GgufNeedMore, GgufHeader>> parse_gguf(std::span<const std::byte> prefix,
                                                                uint64_t file_bytes) {
  const uint64_t usable = std::min<uint64_t>(prefix.size(), file_bytes);
  GgufCursor in(prefix.first(static_cast<size_t>(usable)), file_bytes);
  GgufHeader header;
  if (read_header(in, header)) return header;
  if (in.error()) return std::unexpected(*in.error());
  return GgufNeedMore{in.needed_prefix()};
}

bool is_gguf(std::span<const std::byte> first_bytes) {
  uint32_t magic = 0;
  if (first_bytes.size() < sizeof(magic)) return false;
  std::memcpy(&magic, first_bytes.data(), sizeof(magic));
  return magic == kGgufMagic || magic == std::byteswap(kGgufMagic);
}

}  // namespace puna::formats
