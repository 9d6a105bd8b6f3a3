#include "manager/states.h"

namespace puna::manager {
namespace {

using enum State;

constexpr Row kTable[] = {
    {kUnloaded, Event::kRoom, kLoading, Action::kLoad},
    {kSleeping, Event::kRoom, kLoading, Action::kLoad},
    {kFailed, Event::kRoom, kLoading, Action::kLoad},
    {kLoading, Event::kReady, kLoaded, Action::kServe},
    {kLoading, Event::kBroken, kFailed, Action::kRefuse},
    {kLoading, Event::kNoRoom, kUnloaded, Action::kNothing},
    {kLoading, Event::kGiveUp, kLoading, Action::kStop},
    {kLoading, Event::kStopped, kUnloaded, Action::kNothing},
    {kLoaded, Event::kGo, kUnloading, Action::kFree},
    {kLoaded, Event::kSleep, kFallingAsleep, Action::kFree},
    {kLoaded, Event::kDied, kFailed, Action::kRefuse},
    {kUnloading, Event::kFreed, kUnloaded, Action::kNothing},
    {kFallingAsleep, Event::kFreed, kSleeping, Action::kNothing},
    {kSleeping, Event::kGo, kUnloaded, Action::kNothing},
    {kSleeping, Event::kForget, kUnloaded, Action::kNothing},
    // It cannot be read at all.
    {kUnloaded, Event::kBroken, kFailed, Action::kRefuse},
    {kSleeping, Event::kBroken, kFailed, Action::kRefuse},
    {kFailed, Event::kBroken, kFailed, Action::kRefuse},
};

}  // namespace

std::span<const Row> table() { return kTable; }

std::optional<Row> row_of(State state, Event event) {
  for (const Row& row : kTable) {
    if (row.state == state && row.event == event) return row;
  }
  return {};
}

bool holds_memory(State state) {
  return state == kLoading || state == kLoaded || state == kUnloading || state == kFallingAsleep;
}

std::string_view name_of(State state) {
  switch (state) {
    case kLoading:
      return "loading";
    case kLoaded:
      return "loaded";
    case kFallingAsleep:
    case kSleeping:
      return "sleeping";
    case kUnloaded:
    case kUnloading:
    case kFailed:
      break;
  }
  return "unloaded";
}

}  // namespace puna::manager
