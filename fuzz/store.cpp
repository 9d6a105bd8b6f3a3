// Names of models, digests and manifests from hostile bytes: what is taken is read again to the
// same, and no part of a name can lead out of the folder that it is a path in.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "store/digest.h"
#include "store/manifest.h"
#include "store/name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace store = puna::store;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto name = store::parse_name(text)) {
    for (const std::string* part : {&name->host, &name->space, &name->model, &name->tag}) {
      PUNA_CHECK(!part->empty() && part->front() != '.');
      PUNA_CHECK(part->find('/') == std::string::npos && part->find('\0') == std::string::npos);
    }
    const auto again = store::parse_name(name->full());
    PUNA_CHECK(again.has_value() && *again == *name);
  }
  if (const auto digest = store::Digest::parse(text)) PUNA_CHECK(digest->text() == text);
  PUNA_CHECK(store::parse_name("h/n/" + store::as_name_part(text)).has_value());
  if (const auto manifest = store::read_manifest(text)) {
    const auto again = store::read_manifest(store::write_manifest(*manifest));
    PUNA_CHECK(again.has_value() && again->layers.size() == manifest->layers.size());
    PUNA_CHECK(again->config.digest == manifest->config.digest);
    PUNA_CHECK(again->bytes() == manifest->bytes());
  }
  return 0;
}
