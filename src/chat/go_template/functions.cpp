#include "chat/go_template/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/printable.h"
#include "chat/go_template/ast.h"

namespace puna::chat::go_template {

using base::ErrorCode;
using base::Result;

namespace {

struct Call {
  std::string_view name;
  const std::vector<Value>& arguments;
  int line;

  std::unexpected<base::Error> fail(std::string_view what) const {
    return fail_at(line, ErrorCode::kInvalidArgument, fmt::format("{} {}", name, what));
  }
  std::unexpected<base::Error> unsupported(std::string_view what) const {
    return fail_at(line, ErrorCode::kUnsupported, fmt::format("{} {}", name, what));
  }
};

Value bracketed(std::string_view code, Type type) {
  return {.code = fmt::format("({})", code), .type = type};
}

// ---- and, or, not

Result<Value> choice(const Call& call) {
  std::string code = call.arguments[0].code;
  Type type = call.arguments[0].type;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    code += fmt::format(" {} {}", call.name, call.arguments[i].code);
    if (call.arguments[i].type != type) type = Type::kMixed;
  }
  return bracketed(code, type);
}

Result<Value> negation(const Call& call) {
  return bracketed("not " + call.arguments[0].code, Type::kBool);
}

// ---- Comparisons

// Go compares what is of one kind only.
Result<void> check_comparable(const Call& call, bool ordered) {
  const Type first = call.arguments[0].type;
  for (const Value& each : call.arguments) {
    if (!is_basic(each.type) || (ordered && each.type == Type::kBool))
      return call.fail(fmt::format("does not compare {}", go_template::name(each.type)));
    const auto open = [](Type type) { return type == Type::kAny || type == Type::kNil; };
    if (each.type != first && !open(each.type) && !open(first)) {
      return call.fail(fmt::format("compares {} with {}", go_template::name(first),
                                   go_template::name(each.type)));
    }
  }
  return {};
}

Result<Value> equality(const Call& call) {
  PUNA_TRY(check_comparable(call, /*ordered=*/false));
  std::string code;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (i > 1) code += " or ";
    code += fmt::format("{} == {}", call.arguments[0].code, call.arguments[i].code);
  }
  return bracketed(code, Type::kBool);
}

Result<Value> comparison(const Call& call) {
  struct Sign {
    std::string_view name, sign;
  };
  constexpr Sign kSigns[] = {{"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
  PUNA_TRY(check_comparable(call, /*ordered=*/call.name != "ne"));
  return bracketed(
      fmt::format("{} {} {}", call.arguments[0].code,
                  std::ranges::find(kSigns, call.name, &Sign::name)->sign, call.arguments[1].code),
      Type::kBool);
}

// ---- Parts

Result<Value> length(const Call& call) {
  if (!has_length(call.arguments[0].type))
    return call.fail(fmt::format("does not work on {}", go_template::name(call.arguments[0].type)));
  return bracketed(walked(call.arguments[0]) + " | go_len", Type::kInteger);
}

Result<void> check_index(const Call& call, const Value& index, bool of_map) {
  if (index.type == Type::kNil) return {};
  const bool fits = of_map ? index.type == Type::kString || index.type == Type::kAny
                           : index.type == Type::kInteger;
  if (fits) return {};
  return call.fail(fmt::format("is given {} as an index", go_template::name(index.type)));
}

Result<Value> element(const Call& call) {
  Value out = call.arguments[0];
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (!has_length(out.type))
      return call.fail(fmt::format("does not work on {}", go_template::name(out.type)));
    const bool open = out.type == Type::kAny || out.type == Type::kNil;
    if (!open) PUNA_TRY(check_index(call, call.arguments[i], is_map(out.type)));
    const Type type = out.type == Type::kString ? Type::kInteger : items_of(out.type).item;
    out = bracketed(fmt::format("{} | go_index({})", walked(out), call.arguments[i].code), type);
  }
  return out;
}

Result<Value> part(const Call& call) {
  const Value& of = call.arguments[0];
  if (!has_length(of.type) || (is_map(of.type) && of.type != Type::kAny))
    return call.fail(fmt::format("does not work on {}", go_template::name(of.type)));
  std::string bounds;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    PUNA_TRY(check_index(call, call.arguments[i], /*of_map=*/false));
    bounds += (i > 1 ? ", " : "") + call.arguments[i].code;
  }
  return bracketed(fmt::format("{} | go_slice({})", walked(of), bounds), of.type);
}

// ---- Text

Result<Value> json(const Call& call) {
  const Value& value = call.arguments[0];
  constexpr Type kOpaque[] = {Type::kMixed,   Type::kData,        Type::kTurn,     Type::kGap,
                              Type::kMessage, Type::kMessages,    Type::kToolCall, Type::kToolCalls,
                              Type::kImages,  Type::kCallFunction};
  if (std::ranges::find(kOpaque, value.type) != std::end(kOpaque))
    return call.unsupported(fmt::format("of {} is not supported", go_template::name(value.type)));
  return bracketed(value.code + " | go_json", Type::kString);
}

// A format that stands in the template, taken apart.
Result<Value> formatted(const Call& call) {
  const Value& format = call.arguments[0];
  if (!format.literal || format.type != Type::kString)
    return call.unsupported("wants a format that stands in the template");
  std::string code;
  std::string text;
  const auto put = [&](const std::string& piece) { code += (code.empty() ? "" : " ~ ") + piece; };
  size_t next = 1;
  for (size_t i = 0; i < format.text.size(); ++i) {
    if (format.text[i] != '%') {
      text += format.text[i];
      continue;
    }
    const char verb = ++i < format.text.size() ? format.text[i] : '\0';
    if (verb == '%') {
      text += '%';
      continue;
    }
    if (verb != 's' && verb != 'v' && verb != 'd')
      return call.unsupported("has another verb than %s, %v, %d and %%");
    if (next == call.arguments.size()) return call.fail("has more verbs than values");
    const Value& value = call.arguments[next++];
    if (verb == 'd' && value.type != Type::kInteger)
      return call.unsupported(fmt::format("writes {} as %d", go_template::name(value.type)));
    if (verb == 's' && value.type != Type::kString && form_of(value.type) != Form::kJson &&
        value.type != Type::kAny && value.type != Type::kPropertyType) {
      return call.unsupported(fmt::format("writes {} as %s", go_template::name(value.type)));
    }
    if (value.type == Type::kNil) return call.unsupported("writes no value");
    put(quoted(text));
    text.clear();
    PUNA_TRY(const std::string piece, written(value, call.line));
    put(piece);
  }
  if (next != call.arguments.size()) return call.fail("has more values than verbs");
  if (!text.empty() || code.empty()) put(quoted(text));
  return bracketed(code, Type::kString);
}

// print and println. Go puts a space between two values of which neither is a string.
Result<Value> joined(const Call& call) {
  const bool line = call.name == "println";
  std::string code = "''";
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Value& value = call.arguments[i];
    if (value.type == Type::kNil ||
        (value.type == Type::kAny && call.arguments.size() > 1 && !line))
      return call.unsupported(fmt::format("of {} is not supported", go_template::name(value.type)));
    const auto is_string = [&](size_t at) { return call.arguments[at].type == Type::kString; };
    if (i > 0 && (line || (!is_string(i) && !is_string(i - 1)))) code += " ~ ' '";
    PUNA_TRY(const std::string piece, written(value, call.line));
    code += " ~ " + piece;
  }
  if (line) code += " ~ '\\n'";
  return bracketed(code, Type::kString);
}

Result<Value> typescript(const Call& call) {
  return bracketed(call.arguments[0].code + " | go_typescript", Type::kString);
}

// The format that a template may give is left out of account, as ollama does.
Result<Value> date(const Call& call) {
  return Value{.code = call.name == "currentDate" ? "(0 | go_date)" : "((-1) | go_date)",
               .type = Type::kString};
}

Result<Value> refused(const Call& call) { return call.unsupported("is not supported"); }

struct Function {
  std::string_view name;
  size_t least, most;  // arguments
  Result<Value> (*translate)(const Call& call);
};

constexpr size_t kAnyNumber = 30;

constexpr Function kFunctions[] = {
    {"and", 1, kAnyNumber, choice},
    {"call", 0, kAnyNumber, refused},
    {"currentDate", 0, kAnyNumber, date},
    {"eq", 2, kAnyNumber, equality},
    {"ge", 2, 2, comparison},
    {"gt", 2, 2, comparison},
    {"html", 0, kAnyNumber, refused},
    {"index", 1, kAnyNumber, element},
    {"js", 0, kAnyNumber, refused},
    {"json", 1, 1, json},
    {"le", 2, 2, comparison},
    {"len", 1, 1, length},
    {"lt", 2, 2, comparison},
    {"ne", 2, 2, comparison},
    {"not", 1, 1, negation},
    {"or", 1, kAnyNumber, choice},
    {"print", 0, kAnyNumber, joined},
    {"printf", 1, kAnyNumber, formatted},
    {"println", 0, kAnyNumber, joined},
    {"slice", 1, 3, part},
    {"toTypeScriptType", 1, 1, typescript},
    {"urlquery", 0, kAnyNumber, refused},
    {"yesterdayDate", 0, kAnyNumber, date},
};

}  // namespace

Result<Value> call_function(std::string_view name, const std::vector<Value>& arguments, int line) {
  const auto* const found = std::ranges::find(kFunctions, name, &Function::name);
  if (found == std::end(kFunctions)) {
    return fail_at(line, ErrorCode::kInvalidArgument,
                   fmt::format("there is no function \"{}\"", base::printable(name)));
  }
  const Call call{.name = found->name, .arguments = arguments, .line = line};
  if (arguments.size() < found->least || arguments.size() > found->most) {
    return call.fail(fmt::format("is given {} arguments, but {} is what it takes", arguments.size(),
                                 found->least == found->most
                                     ? fmt::format("{}", found->least)
                                     : fmt::format("{} to {}", found->least, found->most)));
  }
  return found->translate(call);
}

Result<std::string> written(const Value& value, int line) {
  switch (form_of(value.type)) {
    case Form::kText:
      return value.code;
    case Form::kBool:
      return fmt::format("('true' if {} else 'false')", value.code);
    case Form::kPrint:
      return fmt::format("({} | go_print)", value.code);
    case Form::kJson:
      return fmt::format("({} | go_json)", value.code);
    case Form::kType:
      return fmt::format("({} | go_type_text)", value.code);
    case Form::kList:  // one that is missing is empty
      return fmt::format("(({} or []) | go_print)", value.code);
    case Form::kNone:
      break;
  }
  return fail_at(line, ErrorCode::kUnsupported,
                 fmt::format("{} has no text form that a prompt could want", name(value.type)));
}

std::string walked(const Value& value) {
  return value.type == Type::kPropertyType ? fmt::format("({} | go_types)", value.code)
                                           : value.code;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') out += '\\';
    if (c == '\n' || c == '\r') {
      out += c == '\n' ? "\\n" : "\\r";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace puna::chat::go_template
