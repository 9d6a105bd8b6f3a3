#include "chat/nonces.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace puna::chat {
namespace {

struct Nonce {
  std::string_view line;   // how the line begins
  std::string_view key;    // what stands before it
  std::string_view equal;  // what becomes of its letters and digits
};

constexpr Nonce kNonces[] = {
    // Claude Code's: a checksum of each request.
    {"x-anthropic-billing-header:", "cch=", "fffff"},
};

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void make_equal(std::string& text, const Nonce& nonce) {
  for (size_t line = 0; line < text.size();) {
    size_t end = std::min(text.find('\n', line), text.size());
    const bool begins = text.compare(line, nonce.line.size(), nonce.line) == 0;
    const size_t key = begins ? text.find(nonce.key, line) : end;
    if (key < end) {
      const size_t first = key + nonce.key.size();
      size_t last = first;
      while (last < end && is_alphanumeric(text[last])) ++last;
      text.replace(first, last - first, nonce.equal);
      end += nonce.equal.size() - (last - first);
    }
    line = end + 1;
  }
}

}  // namespace

void make_nonces_equal(std::vector<Message>& messages) {
  for (Message& message : messages) {
    if (message.role != "system") continue;
    for (const Nonce& nonce : kNonces) make_equal(message.content, nonce);
  }
}

}  // namespace puna::chat
