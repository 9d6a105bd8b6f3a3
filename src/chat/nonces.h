// Agents put what differs from request to request into the first lines of their instructions, so
// that nothing behind it is known from the request before. What is known of these nonces is made
// equal before a prompt becomes tokens (docs/serving.md lists them).
#pragma once

#include <vector>

#include "chat/messages.h"

namespace puna::chat {

// In messages of the system: in a line that begins as one of the table's, what stands behind the
// key. Nothing else is changed.
void make_nonces_equal(std::vector<Message>& messages);

}  // namespace puna::chat
