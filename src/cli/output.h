// Where the program writes: results on standard output, everything else on standard error. Writing
// to a stream that is closed or full is no crash here: what became of the results is asked once, at
// the end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/printable.h"
#include "base/result.h"

namespace puna::cli {

// Opens what the caller closed of the descriptors 0 to 2, so that no file opened later gets one of
// these numbers and is then read or written as a standard stream. Using one fails as before. To be
// called first.
void open_closed_streams();

void write_raw(std::FILE* to, std::string_view text);

// fmt::print throws where it cannot write.
template <class... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
  write_raw(stdout, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  write_raw(stderr, fmt::format(format, std::forward<Args>(args)...));
}

// One line `error: ...` on standard error; the text of a template may bring more lines.
void print_error(std::string_view text);
// A document on standard output. Control characters that JSON would leave as they are become
// \u escapes, too.
void print_json(const base::Json& json);
// What a model wrote, or text of a vocabulary: unchanged, but on a terminal its control characters
// are written out (base/printable.h).
void write_text(std::FILE* to, std::string_view text);

// Whether all that was written to standard output has arrived so far. Errors: kIo.
base::Result<void> results_written();

}  // namespace puna::cli
