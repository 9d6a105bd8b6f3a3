// Questions about URLs that the client asks before it follows one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::io {

std::string lower(std::string_view text);  // of ASCII letters
// The host of a URL without port and brackets; empty for no URL.
std::string host_name(const std::string& url);
// Errors: kInvalidArgument for what is neither https nor, where that is allowed, http.
base::Result<void> check_url(const std::string& url, bool plain_http);

}  // namespace puna::io
