// The files of the page as they lie in the program: a table that tools/pack_page writes from a
// built web/, from an archive of it, or from none/, which says how to get one. Read next: page.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace puna::server {

struct PageFile {
  std::string_view path;  // "/index.html"; rows are in the order of their paths
  std::string_view type;  // Content-Type
  std::string_view hash;  // of what the file holds, in hexadecimal digits
  // What a Content-Security-Policy calls the scripts and styles that stand in the file:
  // "'sha256-…'", separated by spaces; empty: there are none.
  std::string_view inline_scripts, inline_styles;
  bool immutable;  // other content would have another path
  size_t n_bytes;  // of what the file holds
  // Empty where it would not be smaller. There is either `gzip` or `plain`: what is kept compressed
  // is inflated for who cannot.
  std::string_view plain, gzip, brotli;
};

// What the build has put in.
std::span<const PageFile> page_files();

}  // namespace puna::server
