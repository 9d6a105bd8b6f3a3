// Threads that sleep until another one changes a word: std::atomic's waits where they sleep, the
// futex of Emscripten where std::atomic would poll.
#pragma once

#include <atomic>
#include <cstdint>

namespace puna::base {

// Sleeps while `word` is `seen`; may come back earlier.
void park(const std::atomic<uint32_t>& word, uint32_t seen);

// Wake those that sleep on `word`, which was changed before.
void unpark_one(std::atomic<uint32_t>& word);
void unpark_all(std::atomic<uint32_t>& word);

}  // namespace puna::base
