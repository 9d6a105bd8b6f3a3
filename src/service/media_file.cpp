#include "service/media_file.h"

#include <fmt/format.h>

#include "base/task.h"
#include "io/byte_source.h"

namespace puna::service {

base::Result<MediaFile> read_media_file(const std::string& path, models::Sense sense) {
  PUNA_TRY(const auto source, io::open_file(path));
  // Decoders have limits of their own, which name both numbers.
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  if (source->size() > kMostBytes) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("The file {} has {} bytes; pictures and sounds may have {}.",
                                  path, source->size(), kMostBytes));
  }
  MediaFile out{.name = path, .sense = sense, .bytes = {}};
  out.bytes.resize(static_cast<size_t>(source->size()));
  PUNA_TRY(base::run_until(io::read(*source, 0, out.bytes), [] {}));
  return out;
}

}  // namespace puna::service
