#include "cli/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace puna::cli {

base::Result<void> write_npy(const std::string& path, std::span<const float> values,
                             std::span<const uint64_t> shape) {
  static_assert(std::endian::native == std::endian::little, "the header says '<f4'");
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Magic, version, length and header together fill a multiple of 64 bytes.
  constexpr size_t kFixed = 10;
  header.append((64 - (kFixed + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  head += header;

  const auto io_error = [&] {
    return base::fail(base::ErrorCode::kIo,
                      fmt::format("Cannot write {}: {}.", path, std::strerror(errno)));
  };
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (!file) return io_error();
  if (std::fwrite(head.data(), 1, head.size(), file.get()) != head.size() ||
      std::fwrite(values.data(), sizeof(float), values.size(), file.get()) != values.size() ||
      std::fflush(file.get()) != 0) {
    return io_error();
  }
  return {};
}

}  // namespace puna::cli
