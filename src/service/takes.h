// What a model takes besides texts.
#pragma once

namespace puna::service {

struct Takes {
  bool pictures = false, sounds = false;
};

}  // namespace puna::service
