// Where nothing is read ahead: there is no way to ask for it, or no thread to do so.
#include "io/read_ahead.h"

namespace puna::io {

std::unique_ptr<ReadAhead> ReadAhead::start(int, std::span<const ByteRange>) { return nullptr; }

}  // namespace puna::io
