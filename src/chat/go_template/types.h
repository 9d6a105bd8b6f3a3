// What is known of the values in a Go template before it runs: their types, as ollama has them, and
// the fields of each.
#pragma once

#include <string_view>

namespace puna::chat::go_template {

enum class Type {
  kString,
  kInteger,
  kFloat,
  kBool,
  kAny,    // what JSON holds
  kNil,    // a variable that the data has not, and what follows from it
  kMixed,  // of and, or: of one type or another
  kData,   // $ with .Messages
  kTurn,   // $ of a template without
  kGap,    // $ where a gap is filled in: .Prompt and .Suffix
  kMessages,
  kMessage,
  kImages,
  kToolCalls,
  kToolCall,
  kCallFunction,
  kArguments,
  kTools,
  kTool,
  kToolFunction,
  kParameters,
  kProperties,
  kProperty,
  kPropertyList,
  kPropertyType,
  kStrings,
  kValues,  // a list of what JSON holds
};

// "a message", for messages.
std::string_view name(Type type);

// Whether .field may be asked of it: a struct, or a map whose keys are fields.
struct Field {
  Type owner;
  std::string_view name;
  Type type;
  std::string_view key;   // in the dict that stands for the struct
  bool optional = false;  // the key may be missing
};
// Null: there is no such field.
const Field* find_field(Type owner, std::string_view name);

// What range gives; kNil: range cannot go over it.
struct Items {
  Type key = Type::kNil, item = Type::kNil;
};
Items items_of(Type type);

// How a value is written where an action gives it. kNone: Go writes what no prompt could want.
enum class Form { kText, kBool, kPrint, kList, kJson, kType, kNone };
Form form_of(Type type);

bool is_map(Type type);      // .key may be asked for
bool has_length(Type type);  // for len, index and slice
bool is_basic(Type type);    // for eq

}  // namespace puna::chat::go_template
