// What a server says of the models that it has loaded (GET /api/ps of Ollama's dialect).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::cli {

struct LoadedModelReport {
  std::string name, digest;  // digest: hexadecimal, may be empty
  uint64_t bytes = 0, gpu_bytes = 0;
  uint64_t context = 0;  // tokens; 0: it does not say
  std::string expires;   // RFC 3339
};

// Errors: kCorrupt for what is no such answer.
base::Result<std::vector<LoadedModelReport>> loaded_models(const base::Json& answer);

// "100% GPU", "100% CPU", "48%/52% CPU/GPU".
std::string processor_text(uint64_t bytes, uint64_t gpu_bytes);

// "4 minutes from now", "Forever" for what is years away, "Stopping..." for what is over; the text
// itself where it is no time.
std::string until_text(const std::string& expires, int64_t now_s);

// Whether both are the same name: case says nothing, nor does ":latest".
bool same_model(std::string_view a, std::string_view b);

}  // namespace puna::cli
