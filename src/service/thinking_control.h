// ThinkingControl: what others see of the thinking of one text while it is written, and how they
// end it (thinking_budget.h does). Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace puna::service {

struct ThinkingControl {
  enum class Phase : uint8_t {
    kNever,      // the model marks no thinking
    kNotBegun,   // nothing is written yet; it may think
    kThinking,   //
    kAnswering,  // what it writes now is no thinking, or none any more
  };
  std::atomic<Phase> phase = Phase::kNever;
  // Its thinking ends with the next token, or as soon as it begins.
  std::atomic<bool> end = false;
};

}  // namespace puna::service
