// Which coding of a file a client is sent (RFC 9110, section 12.5.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace puna::server {

enum class Coding : uint8_t { kIdentity, kGzip, kBrotli };

// "", "gzip" or "br", as Content-Encoding has it.
std::string_view name_of(Coding coding);

// Of those `there` are, best first, the one that `header` gives the highest weight, the first among
// equals; none: it takes none of them. Null: the client says nothing, and gets what needs no
// decoding where that is there. What is malformed in the header counts as not said.
std::optional<Coding> choose_coding(const std::string* header, std::span<const Coding> there);

}  // namespace puna::server
