// <tool_call><function=name><parameter=key>value</parameter>...</function></tool_call>: Qwen3-Coder
// and Qwen3.5. A value is bare text; the tool's schema says what it is meant to be.
#include <algorithm>
#include <cmath>

#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

using base::Json;

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";

// The types that a schema names; none where a value may be of others.
void collect_types(const Json& schema, std::vector<std::string>& types) {
  const Json* type = schema.find("type");
  if (type && type->is_string()) types.push_back(type->string());
  if (type && type->is_array()) {
    for (const Json& each : type->items()) {
      if (each.is_string()) types.push_back(each.string());
    }
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const Json* choices = schema.find(key);
    if (!choices || !choices->is_array()) continue;
    for (const Json& each : choices->items()) {
      const size_t n_before = types.size();
      if (each.is_object()) collect_types(each, types);
      if (types.size() > n_before) continue;
      types.clear();  // one of them may be of any type
      return;
    }
  }
}

bool is_of(const Json& value, const std::string& type) {
  if (type == "number") return value.is_number();
  // One that is too large for an integer is read as a number.
  if (type == "integer" && value.is_number()) return value.number() == std::floor(value.number());
  return type == value.type_name();
}

// The value that `text` means under a schema. Without one, or without types in it, JSON that is no
// string is taken as such, and all else is text.
Json typed(std::string_view text, const Json* schema) {
  std::vector<std::string> types;
  if (schema) collect_types(*schema, types);
  const auto parsed = Json::parse(text);
  if (types.empty()) return parsed && !parsed->is_string() ? *parsed : Json(text);
  const auto fits = [&](const std::string& type) {
    if (type == "boolean" && (text == "True" || text == "False")) return true;
    return parsed && type != "string" && is_of(*parsed, type);
  };
  const bool may_be_text = std::ranges::find(types, "string") != types.end();
  const bool null = parsed && parsed->is_null() && std::ranges::find(types, "null") != types.end();
  if (null) return {};
  if (may_be_text || !std::ranges::any_of(types, fits)) return Json(text);
  return parsed ? *parsed : Json(text == "True");
}

// Takes `begin`NAME> from the front of `text`; empty when it does not stand there.
std::string_view take_tag(std::string_view& text, std::string_view begin) {
  text = trimmed(text);
  const size_t end = text.find('>');
  if (!text.starts_with(begin) || end == std::string_view::npos) return {};
  const std::string_view name = trimmed(text.substr(begin.size(), end - begin.size()));
  text.remove_prefix(end + 1);
  return name;
}

// One line end at each side belongs to the markup.
std::string_view inside(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

class Reader final : public WholeReader {
 public:
  Reader(std::string_view opener, const Json& tools)
      : WholeReader(opener == kFunction ? kFunctionEnd : "</tool_call>"),
        open_(opener == kFunction),
        tools_(tools) {}

 private:
  bool may_become(std::string_view begin) const override {
    const std::string_view seen = trimmed(begin);
    return open_ || seen.starts_with(kFunction) || kFunction.starts_with(seen);
  }
  bool read(std::string_view text, Emitter& out) override {
    // The opener or the closing marker of the bare form is no part of the text.
    const std::string whole =
        open_ ? std::string(kFunction) + std::string(text) : std::string(text);
    std::string_view left = whole;
    const std::string_view name = take_tag(left, kFunction);
    if (name.empty()) return false;
    const Json* properties = tool_properties(tools_, name);
    Json arguments = Json::object();
    while (true) {
      left = trimmed(left);
      if (left.empty() || left == kFunctionEnd) break;
      const std::string_view key = take_tag(left, kParameter);
      if (key.empty()) return false;
      const size_t end = left.find(kParameterEnd);
      if (end == std::string_view::npos) return false;
      arguments.set(std::string(key), typed(inside(left.substr(0, end)),
                                            properties ? properties->find(key) : nullptr));
      left.remove_prefix(end + kParameterEnd.size());
    }
    const bool closed = open_ || left == kFunctionEnd;
    return closed && emit_call(std::string(name), arguments, out);
  }

  const bool open_;
  const Json& tools_;
};

constexpr std::string_view kTagged[] = {
    "<tool_call>\n<function=@name>\n@arguments\n</function>\n</tool_call>"};
constexpr std::string_view kBare[] = {"<function=@name>\n@arguments\n</function>"};
constexpr CallSection kSections[] = {{.calls = kTagged, .between = "\n", .several = true},
                                     {.calls = kBare, .between = "\n", .several = true}};
constexpr std::string_view kEnds[] = {kParameterEnd, kFunctionEnd, "</tool_call>"};

}  // namespace

const CallFrame kQwenXmlFrame{.arguments = CallFrame::Arguments::kTags,
                              .sections = kSections,
                              .trigger = "<tool_call>|<function=",
                              .ends = kEnds};

TaggedValue tagged_value(const Json* schema) {
  std::vector<std::string> types;
  if (schema) collect_types(*schema, types);
  const auto has = [&](std::string_view type) {
    return types.empty() || std::ranges::find(types, type) != types.end();
  };
  return {.text = !types.empty() && has("string"),
          .by_looks = types.empty(),
          .null = has("null"),
          .boolean = has("boolean") && (types.empty() || !has("string")),
          .number = (has("number") || has("integer")) && (types.empty() || !has("string")),
          .array = has("array") && (types.empty() || !has("string")),
          .object = has("object") && (types.empty() || !has("string"))};
}

std::unique_ptr<ReplyParser> make_qwen_xml(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<think>",
      .think_close = "</think>",
      .openers = {"<tool_call>", kFunction},
      .skipped = {"</tool_call>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return std::make_unique<Reader>(context.opener, context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
