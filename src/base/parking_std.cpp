#include "base/parking.h"

namespace puna::base {

void park(const std::atomic<uint32_t>& word, uint32_t seen) { word.wait(seen); }
void unpark_one(std::atomic<uint32_t>& word) { word.notify_one(); }
void unpark_all(std::atomic<uint32_t>& word) { word.notify_all(); }

}  // namespace puna::base
