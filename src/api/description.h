// What endpoints are for, what they read and what they give, as rows: documentation, the
// description of the interface (server/openapi.h) and hostile input for tests are made of them.
// Read next: openai/descriptions.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api {

// How an answer comes piece by piece.
enum class Frames : uint8_t { kNone, kSse, kNdjson };

struct Description {
  Endpoint endpoint = nullptr;
  std::string_view name;     // of its answer: "ChatCompletion"
  std::string_view summary;  // a sentence
  // Tables of the body, which is an object, as its endpoint reads it; none: there is no body.
  std::array<FieldTable, 4> body = {};
  // Shapes (shape.h) of what comes with status 200, and of each event or line of a stream; empty:
  // there is none.
  std::string_view answer = {};
  Frames frames = Frames::kNone;
  std::string_view frame = {};
  FieldTable query = nullptr;
  bool may_lack = false;  // 501: the model, or this server, cannot
  bool never = false;     // all that it gives is an error
  std::string_view media_type = "application/json";
  std::string_view body_type = "application/json";
};
struct NamedShape {
  std::string_view name, shape;
};
// What a dialect has: the rows, and the shapes that they name.
struct Descriptions {
  std::span<const Description> rows;
  std::span<const NamedShape> shapes;
};

// Of all dialects.
std::span<const Descriptions> descriptions();
// Null: the endpoint has no row.
const Description* find_description(Endpoint endpoint);
// The rows of tables side by side; of those of one name the first. Null tables have none.
std::vector<Field> rows_of(std::span<const FieldTable> tables);

namespace openai {
Descriptions descriptions();
}
namespace anthropic {
Descriptions descriptions();
}
namespace llama {
Descriptions descriptions();
}
namespace ollama {
Descriptions descriptions();
}
namespace web {
Descriptions descriptions();
}

}  // namespace puna::api
