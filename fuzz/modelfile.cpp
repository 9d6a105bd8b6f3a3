// Modelfiles from hostile bytes: what is read and can be written is read again as it was.
#include "store/modelfile.h"

#include <cstddef>
#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  const auto parsed =
      store::parse_modelfile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed) {
    PUNA_CHECK(!parsed.error().message.empty());
    return 0;
  }
  PUNA_CHECK(!parsed->modelfile.from.empty());
  const auto written = store::write_modelfile(parsed->modelfile);
  PUNA_CHECK(written.has_value());
  const auto again = store::parse_modelfile(*written);
  PUNA_CHECK(again.has_value());
  PUNA_CHECK(again->modelfile == parsed->modelfile);
  return 0;
}
