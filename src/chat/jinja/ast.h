// A parsed template. Expressions and statements own their parts and nest no deeper than the
// constants below, so what walks them may recurse. Read next: parser.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/lexer.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

inline constexpr int kMaxNesting = 60;  // of brackets, and of blocks, in the source
inline constexpr int kMaxDepth = 200;  // of an expression's tree: also a + b + c + ... and a.b.c...

// The variable that {% set x | filters %} and {% filter %} work on; no name in a template can be
// so.
inline constexpr const char* kBlockOutput = "(output)";

struct Filter;
struct Test;
struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    kConstant,     // value
    kName,         // name
    kList,         // parts
    kTuple,        // parts
    kDict,         // parts: key, value, key, value ...
    kAttribute,    // parts[0].name
    kItem,         // parts[0][parts[1]]
    kSlice,        // parts[0][parts[1]:parts[2]:parts[3]], any of 1..3 null
    kCall,         // parts[0](parts[1..], *spread, named, **spread_named)
    kFilter,       // parts[0] | filter(the same)
    kTest,         // parts[0] is test(the same)
    kNot,          // parts[0]
    kNegative,     // -parts[0]
    kPositive,     // +parts[0]
    kBinary,       // parts[0] name parts[1], by arithmetic: + - * / // % **
    kConcat,       // parts joined by ~
    kAnd,          // parts, from the left
    kOr,           // parts, from the left
    kCompare,      // parts[0] names[0] parts[1] names[1] parts[2] ...
    kConditional,  // parts[1] if parts[0] else parts[2] (may be null)
  };
  Kind kind = Kind::kConstant;
  Position at{};
  int depth = 1;  // 1 + that of the deepest part
  Value value{};
  std::string name{};
  std::vector<ExpressionPtr> parts{};
  std::vector<std::pair<std::string, ExpressionPtr>> named{};
  ExpressionPtr spread{}, spread_named{};  // null where a call has none
  std::vector<std::string> names{};
  const Filter* filter = nullptr;
  const Test* test = nullptr;
};

struct Statement;
using Block = std::vector<Statement>;

// What an assignment writes to: a name, a member of a namespace, or a list of targets to unpack
// into.
struct Target {
  Position at{};
  std::string name{};
  std::string member{};  // of the namespace `name`, when not empty
  std::vector<Target> parts{};
};

// Names that a macro has beside its parameters, if its block uses them.
struct MacroNames {
  bool caller = false;   // what a call block passes
  bool varargs = false;  // arguments beyond the parameters
  bool kwargs = false;   // named arguments that are no parameters
};

struct Statement {
  enum class Kind {
    kText,    // text
    kOutput,  // expressions, one after another
    kIf,      // expressions[i] decides over blocks[i]; one block more is the else
    kFor,     // target in expressions[0] if expressions[1] (may be null): blocks[0], else blocks[1]
    kSet,     // target = expressions[0]
    kSetBlock,  // target = the output of blocks[0], through the filters of expressions[0] (may be
                // null)
    kFilter,    // the output of blocks[0], through the filters of expressions[0]
    kWith,      // targets = expressions, for blocks[0]
    kMacro,     // text: its name; parameters; expressions: their defaults (null without one);
                // blocks[0]
    kCall,      // the call expressions.back(), with blocks[0] as its caller(): else like a macro
    kScope,     // blocks[0], with its own variables
    kBlock,     // blocks[0], which sees what is set at the top of the template (or here: scoped)
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kText;
  Position at{};
  std::string text{};
  std::vector<ExpressionPtr> expressions{};
  std::vector<Block> blocks{};
  std::vector<Target> targets{};
  std::vector<std::string> parameters{};
  MacroNames uses{};       // kMacro, kCall
  bool recursive = false;  // kFor: the block may call loop(items)
  bool scoped = false;     // kBlock
};

}  // namespace puna::chat::jinja
