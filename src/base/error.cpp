#include "base/error.h"

namespace puna::base {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kNetwork:
      return "network";
    case ErrorCode::kDevice:
      return "device";
    case ErrorCode::kDeviceLost:
      return "device_lost";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kSetUp:
      return "set_up";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string_view error_meaning(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "The command line asks for something that no option means.";
    case ErrorCode::kInvalidArgument:
      return "A given value is outside what the operation accepts.";
    case ErrorCode::kNotFound:
      return "A named thing does not exist.";
    case ErrorCode::kCorrupt:
      return "Data does not follow its format.";
    case ErrorCode::kUnsupported:
      return "The input is valid but not supported here.";
    case ErrorCode::kOutOfMemory:
      return "There is not enough memory.";
    case ErrorCode::kIo:
      return "The operating system refused a read or write.";
    case ErrorCode::kNetwork:
      return "A remote host did not answer as expected.";
    case ErrorCode::kDevice:
      return "The GPU or its driver refused an operation.";
    case ErrorCode::kDeviceLost:
      return "The GPU is lost.";
    case ErrorCode::kCancelled:
      return "The operation was cancelled.";
    case ErrorCode::kSetUp:
      return "What this process was given to work with cannot be used.";
    case ErrorCode::kInternal:
      return "This is a bug in Puna.";
  }
  return "Unknown error.";
}

std::string Error::text() const {
  std::string out = message.empty() ? std::string(error_meaning(code)) : message;
  for (const std::string& line : context) {
    out += " - ";
    out += line;
  }
  return out;
}

}  // namespace puna::base
