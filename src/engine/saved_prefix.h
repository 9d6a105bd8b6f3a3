// What the cache of an engine holds of a text as bytes that outlive it: a piece for each stretch of
// tokens, so that a text that has grown is kept by one more piece, and texts with the same
// beginning share the pieces of that. Engine::save() and restore() write and read them.
//
// A piece, all numbers little-endian u32 unless said otherwise:
//   "PunaText"  version  bytes of the identity  first  end  CRC-32 of these and of the next two
//   the identity: a JSON object that says what the cache was computed by
//   i32 tokens[end]: the text from its start to the end of the piece
//   pages of the cache, from the one with token `first` to the one with token `end - 1`, and
//   behind each its CRC-32: keys and values as Executor::read_page() gives them
//   the recurrent states after `end` tokens, where there are any, and behind each its CRC-32
// With `end` 0 it is the head alone: of no text, which nothing is taken up from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "io/byte_source.h"

namespace puna::engine {

// Grows when the format changes, or what engines of the same version of Puna compute.
constexpr uint32_t kPieceVersion = 1;
// Texts are cut here, so that those with a long beginning in common share pieces.
constexpr uint32_t kPieceTokens = 256;

struct PieceHead {
  base::Json identity;
  uint32_t first = 0;
  std::vector<int32_t> tokens;  // [end]
  uint32_t end() const { return static_cast<uint32_t>(tokens.size()); }
};

// The bytes of a piece before its pages.
std::vector<std::byte> head_bytes(const PieceHead& head);
// Errors: kUnsupported for what is no piece or of another version; kCorrupt for one that is cut or
// damaged; those of the source.
base::Task<base::Result<PieceHead>> read_head(io::ByteSource& source);
// Whether what one engine has saved is what another one would compute. Errors: kUnsupported naming
// the first difference.
base::Result<void> check_identity(const base::Json& saved, const base::Json& here);

}  // namespace puna::engine
