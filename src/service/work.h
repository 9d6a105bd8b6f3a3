// What work that takes long tells of itself: pulling, pushing and making of models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace puna::service {

struct WorkProgress {
  std::string status;  // "pulling manifest", "success"
  // Of what is moved or written; empty and 0 where there is nothing to count.
  std::string digest{};
  uint64_t total_bytes = 0, done_bytes = 0;

  bool operator==(const WorkProgress&) const = default;
};
using OnWork = std::function<void(const WorkProgress&)>;

}  // namespace puna::service
