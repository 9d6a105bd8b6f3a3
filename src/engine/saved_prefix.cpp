#include "engine/saved_prefix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "base/crc32.h"

namespace puna::engine {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;
using base::Task;

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "PunaText";
constexpr uint32_t kMostIdentityBytes = 1 << 20;

struct Fixed {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t n_identity;
  uint32_t first, end;
  uint32_t crc;  // of the fields before it, the identity and the tokens
};
static_assert(sizeof(Fixed) == 28);

std::span<const std::byte> checked_fields(const Fixed& fixed) {
  return std::as_bytes(std::span(&fixed, 1)).first(offsetof(Fixed, crc));
}

std::string value_of(const Json& object, const std::string& key) {
  const Json* value = object.find(key);
  return value == nullptr ? "nothing" : value->dump();
}

}  // namespace

std::vector<std::byte> head_bytes(const PieceHead& head) {
  const std::string identity = head.identity.dump();
  Fixed fixed{{}, kPieceVersion, static_cast<uint32_t>(identity.size()), head.first, head.end(), 0};
  std::copy(kMagic.begin(), kMagic.end(), fixed.magic.begin());
  const auto text = std::as_bytes(std::span(identity)),
             tokens = std::as_bytes(std::span(head.tokens));
  fixed.crc = base::crc32(tokens, base::crc32(text, base::crc32(checked_fields(fixed))));
  std::vector<std::byte> out(sizeof(fixed) + text.size() + tokens.size());
  std::memcpy(out.data(), &fixed, sizeof(fixed));
  std::copy(text.begin(), text.end(), out.begin() + sizeof(fixed));
  std::copy(tokens.begin(), tokens.end(), out.end() - static_cast<ptrdiff_t>(tokens.size()));
  return out;
}

Task<Result<PieceHead>> read_head(io::ByteSource& source) {
  const auto cut = [&] {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The piece is cut: it has {} bytes.", source.size()));
  };
  Fixed fixed{};
  if (source.size() < sizeof(fixed)) co_return cut();
  PUNA_CO_TRY(co_await io::read(source, 0, std::as_writable_bytes(std::span(&fixed, 1))));
  if (std::string_view(fixed.magic.data(), fixed.magic.size()) != kMagic)
    co_return fail(ErrorCode::kUnsupported, "This is no piece of a text that an engine has saved.");
  if (fixed.version != kPieceVersion) {
    co_return fail(ErrorCode::kUnsupported,
                   fmt::format("The piece is of version {}; this engine reads version {}.",
                               fixed.version, kPieceVersion));
  }
  const uint64_t n_tokens_bytes = uint64_t{fixed.end} * sizeof(int32_t);
  const bool holds_some = fixed.first < fixed.end || fixed.end == 0;
  if (!holds_some || fixed.n_identity > kMostIdentityBytes ||
      sizeof(fixed) + fixed.n_identity + n_tokens_bytes > source.size())
    co_return cut();
  std::string identity(fixed.n_identity, '\0');
  PieceHead head;
  head.first = fixed.first;
  head.tokens.resize(fixed.end);
  const auto text = std::as_writable_bytes(std::span(identity));
  const auto tokens = std::as_writable_bytes(std::span(head.tokens));
  PUNA_CO_TRY(co_await io::read(source, sizeof(fixed), text));
  PUNA_CO_TRY(co_await io::read(source, sizeof(fixed) + text.size(), tokens));
  if (base::crc32(tokens, base::crc32(text, base::crc32(checked_fields(fixed)))) != fixed.crc)
    co_return fail(ErrorCode::kCorrupt, "The piece is damaged: its head has another CRC-32.");
  PUNA_CO_TRY(head.identity, Json::parse(identity));
  co_return head;
}

Result<void> check_identity(const Json& saved, const Json& here) {
  for (const auto& [key, value] : here.members()) {
    const Json* other = saved.find(key);
    if (other != nullptr && *other == value) continue;
    return fail(ErrorCode::kUnsupported,
                fmt::format("The piece was saved with another \"{}\": {}; here it is {}.", key,
                            value_of(saved, key), value.dump()));
  }
  return {};
}

}  // namespace puna::engine
