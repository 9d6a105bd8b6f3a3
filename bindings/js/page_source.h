// Bytes that the page holds: a part of a model, read through the functions of page.js.
#pragma once

#include <memory>
#include <string>

#include "io/byte_source.h"

namespace puna::page {

// Part `index` of the model that is being loaded. `at_once`: its reads are over when they return.
std::unique_ptr<io::ByteSource> part_source(uint32_t index, std::string name, uint64_t size,
                                            bool at_once);

}  // namespace puna::page
