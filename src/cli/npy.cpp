#include "cli/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <string>

namespace puna::cli {

base::Result<void> write_npy(io::ByteSink& out, std::span<const float> values,
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

  PUNA_TRY(out.write(std::as_bytes(std::span(head))));
  PUNA_TRY(out.write(std::as_bytes(values)));
  return out.finish();
}

}  // namespace puna::cli
