// A registry of models: the Docker Registry protocol, version 2, as far as models need it. Source:
// distribution's specification of it, and what ollama's registry adds (digests of chunks).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/http/http_client.h"
#include "store/manifest.h"
#include "store/name.h"
#include "store/progress.h"
#include "store/pull/download.h"

namespace puna::store {

// What a server wants of who asks: `Bearer realm="...",service="...",scope="..."`.
struct Challenge {
  std::string scheme{};  // "bearer", "basic"; in lower case
  std::string realm{}, service{}, scope{};
};
Challenge read_challenge(std::string_view header);

// The repository of one model in its registry. Asks without a token first, then with one that the
// registry's own host gives.
class Registry {
 public:
  enum class Access { kPull, kPush };
  // `reporter` outlives it. With --insecure the registry is asked by plain http.
  Registry(const ModelName& name, Access access, Reporter& reporter);

  std::string url(std::string_view rest) const;  // of this repository
  const std::string& host() const { return name_.host; }
  const std::string& authorization() const { return authorization_; }

  // The manifest, as the registry has it. Errors: kNotFound, kNetwork, kCorrupt.
  base::Result<std::string> manifest();
  BlobSource source(const Layer& layer);

  // One request to this registry, with the token; asked again as retry.h says, and once more with a
  // new token. Errors: those of io::http_request, and of getting a token.
  base::Result<TextAnswer> ask(io::HttpRequest request, uint64_t max_bytes);
  // The value of the Authorization header after a refusal. Errors: kNetwork, kCorrupt.
  base::Result<std::string> authorize(const io::HttpHead& refused);

 private:
  std::vector<Chunk> chunk_digests(const Layer& layer);

  ModelName name_;
  Access access_;
  Reporter& reporter_;
  std::string base_url_;
  std::string authorization_;
};

}  // namespace puna::store
