#include "server/page/inflate.h"

#include <zlib.h>

#include "base/check.h"

namespace puna::server {

std::string inflate(std::string_view gzip, size_t n_bytes) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  std::string out(n_bytes, '\0');
  z_stream stream{};
  PUNA_CHECK(::inflateInit2(&stream, kGzipOnly) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = ::inflate(&stream, Z_FINISH);
  ::inflateEnd(&stream);
  PUNA_CHECK(status == Z_STREAM_END && stream.avail_out == 0);
  return out;
}

}  // namespace puna::server
