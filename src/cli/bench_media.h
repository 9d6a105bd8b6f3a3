// puna bench --image: how long a picture takes, to its rows and to the first token of an answer.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "service/model.h"

namespace puna::cli {

struct PictureSize {
  uint32_t width = 0, height = 0;
};
// Of "1024x768". Errors: kUsage.
base::Result<PictureSize> parse_picture_size(const std::string& text);

// Pictures of random pixels, each anew: encoding it, the first token of a prompt with it, and once
// more of the same prompt. Errors: kUnsupported for a model that sees nothing; those of reading
// and encoding pictures and of the engine.
base::Result<base::Json> bench_picture(service::LoadedModel& model, const PictureSize& size,
                                       uint32_t repeats);
void print_picture(const base::Json& report);

}  // namespace puna::cli
