// Errors as data: a code with a one-line meaning, a message written for the reader, and the context
// it crossed. Read next: result.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace puna::base {

// What kind of thing went wrong. The meaning of each code is in error_meaning().
enum class ErrorCode {
  kUsage,            // the command line asks for something that no option means
  kInvalidArgument,  // a value given by the caller is outside what the operation accepts
  kNotFound,         // a named thing (file, model, tensor, key) does not exist
  kCorrupt,          // data read from outside does not follow its format
  kUnsupported,      // valid input that this build or device cannot serve
  kOutOfMemory,      // an allocation for weights, cache or scratch was refused
  kIo,               // the operating system refused a read or write
  kNetwork,          // a remote host did not answer as expected
  kDevice,           // the GPU or its driver refused an operation
  kDeviceLost,       // the GPU is gone; nothing submitted afterwards runs
  kCancelled,        // the caller asked to stop
  kSetUp,            // what this process was given to work with (models, settings) is no good
  kInternal,         // a bug in Puna
};

// "invalid_argument", ..., for programs that are told of an error.
std::string_view name(ErrorCode code);

// One line that says what the code means, for documentation and fallbacks.
std::string_view error_meaning(ErrorCode code);

// Of something that is larger than there is room for.
struct Excess {
  uint64_t n = 0;       // how large it is
  uint64_t n_room = 0;  // what there is room for
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;               // full sentence, present tense, with the offending value
  std::vector<std::string> context;  // "While ..." lines, innermost first
  // Tokens, of a text that does not fit the context of its model.
  std::optional<Excess> excess = {};

  // The message and its context on one line, joined by " - ".
  std::string text() const;
};

}  // namespace puna::base
