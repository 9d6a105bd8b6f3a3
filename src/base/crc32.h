// CRC-32 as zlib, PNG and Ethernet have it (polynomial 0x04C11DB7, bits reversed): tells bytes that
// were damaged where they were kept. No defence against bytes that were changed on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace puna::base {

// Of `bytes` behind bytes whose CRC is `before`.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace puna::base
