// A parsed Go template: nodes as text/template/parse has them. Nodes own their parts and nest no
// deeper than kMaxNesting, so what walks them may recurse. Read next: parser.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::chat::go_template {

inline constexpr int kMaxNesting = 40;  // of blocks, and of brackets in a pipeline

// "Line 3: ..."
std::unexpected<base::Error> fail_at(int line, base::ErrorCode code, std::string_view what);

struct Pipeline;

// One word of a command.
struct Operand {
  enum class Kind {
    kDot,       // .fields, of the value that the dot stands for; fields may be empty
    kVariable,  // $text.fields; text is empty for $ itself
    kFunction,  // text
    kString,    // text
    kInteger,   // integer
    kFloat,     // number
    kBool,      // integer is 0 or 1
    kNil,
    kPipeline,  // (pipeline).fields
  };
  Kind kind = Kind::kDot;
  int line = 1;
  std::string text{};
  int64_t integer = 0;
  double number = 0;
  std::unique_ptr<Pipeline> pipeline{};  // kPipeline only
  std::vector<std::string> fields{};
};

using Command = std::vector<Operand>;  // not empty

struct Pipeline {
  int line = 1;
  std::vector<std::string>
      variables{};                  // that the value is given to, without $; range: two at most
  bool declares = false;            // := rather than =
  std::vector<Command> commands{};  // each but the first gets the value before as last argument
};

struct Node;
using Nodes = std::vector<Node>;

struct Node {
  enum class Kind {
    kText,      // text
    kAction,    // pipeline, written unless it has variables
    kIf,        // pipeline decides between body and otherwise
    kRange,     // body for each of the pipeline's items, otherwise where there are none
    kWith,      // like kIf, and the value is the dot of body
    kTemplate,  // the template that is named text, its dot the pipeline's value (may be null)
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kText;
  int line = 1;
  std::string text{};
  std::unique_ptr<Pipeline> pipeline{};
  Nodes body{}, otherwise{};
};

struct Source {
  Nodes main{};
  std::map<std::string, Nodes, std::less<>> named{};  // of define and block

  // Whether a field of that name, in any case of letters, is asked for anywhere.
  bool mentions(std::string_view field) const;
};

// Drops all behind the first .Response that an action has, as ollama cuts a template for the turn
// that is to be answered. Returns whether there is one.
bool cut_behind_response(Nodes& nodes);

}  // namespace puna::chat::go_template
