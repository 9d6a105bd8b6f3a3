#include "io/http/urls.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "io/http/http_client.h"

namespace puna::io {
namespace {

using base::ErrorCode;
using base::fail;

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlDeleter>;

Url parse(const std::string& text) {
  Url url(curl_url());
  if (url && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (!url || curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string host_name(const std::string& url) {
  std::string host = lower(part(parse(url), CURLUPART_HOST));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

std::string url_host(const std::string& url) {
  const Url parsed = parse(url);
  const std::string port = part(parsed, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  const std::string host = lower(part(parsed, CURLUPART_HOST));
  return port.empty() ? host : host + ":" + port;
}

std::string absolute_url(const std::string& url, const std::string& location) {
  const Url base = parse(url);
  if (!base || curl_url_set(base.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK) return {};
  return part(base, CURLUPART_URL);
}

base::Result<void> check_url(const std::string& url, bool plain_http) {
  const Url parsed = parse(url);
  const std::string scheme = part(parsed, CURLUPART_SCHEME);
  if (scheme == "https" || (scheme == "http" && plain_http)) return {};
  if (scheme == "http") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is plain http, which anybody on the way can read and change; it is "
                            "asked only with --insecure.",
                            url.substr(0, 300)));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is no http or https URL.", url.substr(0, 300)));
}

}  // namespace puna::io
