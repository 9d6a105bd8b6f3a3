// What a file of the page may load, run and be shown in, as headers say it to a browser.
#pragma once

#include <string>

#include "server/page/page_file.h"

namespace puna::server {

// The value of Content-Security-Policy.
std::string policy_of(const PageFile& file);

}  // namespace puna::server
