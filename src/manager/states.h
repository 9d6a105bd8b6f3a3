// The states of a model under management, as a table: what may happen in each, what the model is
// afterwards, and what is to be done. One that is being downloaded is none yet (downloads.h). Read
// next: states.cpp for the rows, registry.h for who says what happens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace puna::manager {

enum class State : uint8_t {
  kUnloaded,
  kLoading,
  kLoaded,
  kUnloading,      // its memory is being freed
  kFallingAsleep,  // the same, but it is to come back with the next request
  kSleeping,
  kFailed,  // as unloaded, but who wants it is told why until some time has passed
};

enum class Event : uint8_t {
  kRoom,    // it is wanted, and there is room for it
  kReady,   // loading has ended well
  kBroken,  // loading has ended with an error
  kNoRoom,  // loading has ended since memory was taken by others, which may go
  kGiveUp,  // nobody waits for it any more, and others need its room
  kStopped,
  kGo,      // it is idle, and its room is wanted or its time is over
  kSleep,   // it is idle for as long as models stay awake
  kFreed,   // its memory is free
  kDied,    // it has ended by itself
  kForget,  // it has slept for as long as it is kept
};

enum class Action : uint8_t {
  kNothing,
  kLoad,
  kServe,   // who waits is served
  kRefuse,  // who waits is told the error
  kStop,    // loading is to end
  kFree,
};

struct Row {
  State state;
  Event event;
  State next;
  Action action;
};
std::span<const Row> table();

// None: this cannot happen in that state.
std::optional<Row> row_of(State state, Event event);

// Whether it takes memory.
bool holds_memory(State state);

// "unloaded", "loading", ...: as llama-server's router calls them.
std::string_view name_of(State state);

}  // namespace puna::manager
