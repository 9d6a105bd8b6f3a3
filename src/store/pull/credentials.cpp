#include "store/pull/credentials.h"

#include "base/json.h"
#include "store/files.h"
#include "store/places/places.h"

namespace puna::store {
namespace {

using base::Json;

constexpr uint64_t kMaxBytes = 1 << 20;

// One line that may stand in a header; empty for anything else.
std::string clean(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  for (const char c : text) {
    if (c <= ' ' || c == 0x7f) return {};
  }
  return text;
}

}  // namespace

std::string hugging_face_token() {
  if (std::string token = clean(variable("HF_TOKEN")); !token.empty()) return token;
  std::string folder = variable("HF_HOME");
  if (folder.empty()) folder = variable("HOME") + "/.cache/huggingface";
  return clean(read_text(folder + "/token", kMaxBytes).value_or(""));
}

std::string docker_login(const std::string& host) {
  std::string folder = variable("DOCKER_CONFIG");
  if (folder.empty()) folder = variable("HOME") + "/.docker";
  const auto text = read_text(folder + "/config.json", kMaxBytes);
  const auto json = text ? Json::parse(*text) : std::unexpected(text.error());
  const Json* logins = json ? json->find("auths") : nullptr;
  const Json* login = logins ? logins->find(host) : nullptr;
  return login ? clean(login->get_string("auth").value_or("")) : "";
}

}  // namespace puna::store
