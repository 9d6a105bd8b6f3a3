// Names of models: `host/namespace/model:tag`. Where parts are left out they are those of ollama's
// registry, so that a name means the same there and here.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::store {

inline constexpr std::string_view kDefaultHost = "registry.ollama.ai";
inline constexpr std::string_view kDefaultSpace = "library";
inline constexpr std::string_view kDefaultTag = "latest";
// Not of any registry: the models of Puna's catalogue, and files that only have a file name.
inline constexpr std::string_view kPunaHost = "puna.local";
inline constexpr std::string_view kCatalogueSpace = "catalogue";
inline constexpr std::string_view kFilesSpace = "files";
inline constexpr std::string_view kHuggingFaceHost = "hf.co";

struct ModelName {
  std::string host{kDefaultHost};
  std::string space{kDefaultSpace};  // the namespace
  std::string model{};
  std::string tag{kDefaultTag};

  std::string full() const;  // all four parts
  // "model:tag" of the default registry and of Puna's own, "namespace/model:tag" of other
  // namespaces of the default registry; else all of it.
  std::string text() const;
  std::string folded() const;  // full() in lower case: equal for equal names
  bool operator==(const ModelName& other) const { return folded() == other.folded(); }
};

// Whether only model and tag are written.
bool is_bare(std::string_view text);
// Whether it is the address of a file, not a name.
bool is_url(std::string_view text);

// Errors: kInvalidArgument, saying what of the text is wrong. Model, tag: letters, digits, '.', '_'
// and '-', not beginning with '.' or '-', at most 80 bytes. Namespace: the same without '.'. Host:
// the same with ':', at most 350 bytes.
base::Result<ModelName> parse_name(std::string_view text);

// `text` with what no part of a name may hold replaced; for names made of file names. "model" where
// nothing is left.
std::string as_name_part(std::string_view text);

std::string lower_case(std::string_view text);  // of ASCII letters

}  // namespace puna::store
