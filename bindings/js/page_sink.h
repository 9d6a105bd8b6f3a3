// A file of the page that the engine writes, through a function of page.js.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "io/byte_sink.h"

namespace puna::page {

// File `index`, which the page has opened. Writes fail with kCancelled once `cancel` is set; it
// outlives the sink.
std::unique_ptr<io::ByteSink> page_sink(uint32_t index, const std::atomic<bool>& cancel);

}  // namespace puna::page
