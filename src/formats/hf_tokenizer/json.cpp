// What the readers of all parts use.
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

using base::Json;
using base::Result;

Result<std::string> type_of(const Json* part, std::string_view what) {
  if (!part || part->is_null()) return std::string();
  const Json* type = part->find("type");
  if (!type || !type->is_string()) return corrupt(fmt::format("a {} without a type.", what));
  return type->string();
}

Result<bool> flag(const Json& part, std::string_view key, bool otherwise) {
  const Json* value = part.find(key);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_bool())
    return corrupt(
        fmt::format("a {} as \"{}\" (true or false is expected).", value->type_name(), key));
  return value->boolean();
}

Result<std::string> text(const Json& part, std::string_view key, std::string_view otherwise) {
  const Json* value = part.find(key);
  if (!value || value->is_null()) return std::string(otherwise);
  if (!value->is_string())
    return corrupt(fmt::format("a {} as \"{}\" (a string is expected).", value->type_name(), key));
  return value->string();
}

Result<uint32_t> count(const Json& part, std::string_view key, uint32_t otherwise) {
  const Json* value = part.find(key);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_integer() || value->integer() < 0 || value->integer() > UINT32_MAX)
    return corrupt(fmt::format("{} as \"{}\" (a count is expected).", value->dump(), key));
  return static_cast<uint32_t>(value->integer());
}

Result<std::vector<const Json*>> flatten(const Json* part, std::string_view list) {
  std::vector<const Json*> out;
  PUNA_TRY(const std::string type, type_of(part, list));
  if (type.empty()) return out;
  if (type != "Sequence") return std::vector{part};
  const Json* items = part->find(list);
  if (!items || !items->is_array()) return corrupt(fmt::format("a Sequence without \"{}\".", list));
  for (const Json& item : items->items()) {
    PUNA_TRY(const auto inner, flatten(&item, list));
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

Result<PatternText> read_pattern(const Json& part) {
  const Json* pattern = part.find("pattern");
  if (pattern && pattern->is_object() && pattern->members().size() == 1) {
    const auto& [kind, value] = pattern->members()[0];
    if (value.is_string() && (kind == "String" || kind == "Regex"))
      return PatternText{value.string(), kind == "Regex"};
  }
  return corrupt("a part without a pattern {\"String\" or \"Regex\": ...}.");
}

}  // namespace puna::formats::hf
