// What models that are not loaded take besides texts, by the heads of their files. These are read
// once: after that it costs a look at the folder of a model whether its encoder is still the same.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "service/find_encoder.h"
#include "service/takes.h"

namespace puna::service {

class KnownSenses {
 public:
  // Any thread. `name`: of a model, as find_encoder() has it. Nothing for a model that would be
  // loaded without an encoder, and for one that could not be loaded.
  Takes of(const std::string& name, const EncoderWish& wish);

 private:
  struct Known {
    std::string encoder;  // its path
    std::filesystem::file_time_type changed;
    Takes takes;
  };

  std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by the path of the model
};

}  // namespace puna::service
