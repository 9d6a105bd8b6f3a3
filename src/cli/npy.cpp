#include "cli/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "io/byte_source.h"

namespace puna::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kFixed = 10;  // magic, version and length of the header

// What stands behind a key of the header, which is a dictionary of Python; empty without the key.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

// The numbers of "(5, 64, 3), ..."; none when it is no tuple of numbers.
std::optional<std::vector<uint64_t>> tuple(std::string_view text) {
  if (!text.starts_with('(')) return {};
  text.remove_prefix(1);
  std::vector<uint64_t> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.starts_with(')')) return out;
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc()) return {};
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    out.push_back(n);
  }
}

}  // namespace

base::Result<NpyArray> read_npy(const std::string& path) {
  const auto corrupt = [&](std::string_view why) {
    return base::fail(base::ErrorCode::kCorrupt, fmt::format("The file {} {}.", path, why));
  };
  PUNA_TRY(const auto source, io::open_file(path));
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    return base::run_until(io::read(*source, offset, out), [] {});
  };
  std::string fixed(kFixed, '\0');
  if (source->size() < kFixed) return corrupt("is no .npy array: it is shorter than the header");
  PUNA_TRY(read(0, std::as_writable_bytes(std::span(fixed))));
  if (!fixed.starts_with(kMagic)) return corrupt("is no .npy array of version 1.0");
  const uint64_t n_header = static_cast<uint8_t>(fixed[8]) | static_cast<uint8_t>(fixed[9]) << 8;
  if (source->size() < kFixed + n_header) return corrupt("ends within its header");
  std::string header(static_cast<size_t>(n_header), '\0');
  PUNA_TRY(read(kFixed, std::as_writable_bytes(std::span(header))));
  if (!value_of(header, "'descr'").starts_with("'<f4'"))
    return corrupt("holds another type than little-endian float32");
  if (!value_of(header, "'fortran_order'").starts_with("False"))
    return corrupt("holds its columns first; rows first are read");
  const auto shape = tuple(value_of(header, "'shape'"));
  if (!shape) return corrupt("has no shape");
  NpyArray out{*shape, {}};
  const uint64_t bytes = source->size() - kFixed - n_header;
  uint64_t n = 1;
  for (const uint64_t size : out.shape) n = size == 0 || n <= bytes / size ? n * size : bytes + 1;
  if (n > bytes || n * sizeof(float) != bytes) {
    return corrupt(fmt::format("has {} bytes of values, which its shape ({}) does not need", bytes,
                               fmt::join(out.shape, ", ")));
  }
  out.values.resize(static_cast<size_t>(n));
  PUNA_TRY(read(kFixed + n_header, std::as_writable_bytes(std::span(out.values))));
  return out;
}

base::Result<void> write_npy(io::ByteSink& out, std::span<const float> values,
                             std::span<const uint64_t> shape) {
  static_assert(std::endian::native == std::endian::little, "the header says '<f4'");
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Magic, version, length and header together fill a multiple of 64 bytes.
  header.append((64 - (kFixed + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string head(kMagic);
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  head += header;

  PUNA_TRY(out.write(std::as_bytes(std::span(head))));
  PUNA_TRY(out.write(std::as_bytes(values)));
  return out.finish();
}

}  // namespace puna::cli
