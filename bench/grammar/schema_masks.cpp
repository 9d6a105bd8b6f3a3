// Masks of JSON schemas, token by token, for compare_masks.py.
// usage: puna_schema_masks TOKENS.json < LINES
//   TOKENS: what puna_grammar_bench writes; a line: {"schema": SCHEMA}, which begins a text, or
//   {"take": ID}
// Writes a line for each: {"mask": HEX, "may_end": true}, where HEX has the lowest id in the lowest
// bit of its first byte, or {"error": "..."}.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "grammar/json_schema/json_schema.h"
#include "grammar/matcher.h"

namespace puna {
namespace {

std::string bytes_of(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

std::shared_ptr<grammar::Masks> masks_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const auto known = base::Json::parse(text.str());
  if (!known) return nullptr;
  std::vector<std::string> tokens;
  for (const base::Json& token : known->find("tokens")->items())
    tokens.push_back(bytes_of(token.string()));
  std::vector<int32_t> end;
  for (const base::Json& id : known->find("end")->items())
    end.push_back(static_cast<int32_t>(id.integer()));
  return std::make_shared<grammar::Masks>(
      std::make_shared<const grammar::GrammarVocabulary>(tokens, end, nullptr));
}

base::Json mask_of(grammar::Matcher& matcher) {
  std::string hex;
  for (const uint32_t word : matcher.allowed()) {
    for (uint32_t byte = 0; byte < 4; ++byte) hex += fmt::format("{:02x}", word >> 8 * byte & 0xFF);
  }
  return base::Json::object().set("mask", hex).set("may_end", matcher.may_end());
}

int run(const std::shared_ptr<grammar::Masks>& masks) {
  grammar::JsonSchemaOptions options;
  options.limits.compile_ms = 10'000;
  std::optional<grammar::Matcher> matcher;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto input = base::Json::parse(line, 200);
    base::Json out = base::Json::object().set("error", "no text is begun");
    const base::Json* schema = input ? input->find("schema") : nullptr;
    const base::Json* taken = input ? input->find("take") : nullptr;
    if (schema != nullptr) {
      matcher.reset();
      auto compiled = grammar::compile_json_schema_text(schema->dump(), options);
      if (compiled) {
        matcher.emplace(*std::move(compiled), masks);
      } else {
        out.set("error", compiled.error().text());
      }
    } else if (taken != nullptr && matcher) {
      matcher->take(static_cast<int32_t>(taken->integer()));
    }
    if (matcher) out = mask_of(*matcher);
    std::printf("%s\n", out.dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace puna

int main(int argc, char** argv) {
  const auto masks = argc == 2 ? puna::masks_of(argv[1]) : nullptr;
  if (masks) return puna::run(masks);
  std::fputs("usage: puna_schema_masks TOKENS.json < LINES\n", stderr);
  return 2;
}
