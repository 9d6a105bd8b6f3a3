// Which texts the grammars of JSON schemas accept, for suite.py and random_schemas.py.
// usage: puna_schema_cases [--strict] < CASES    (a line each: {"schema": SCHEMA, "texts": [TEXT]})
// Writes a line for each: {"accepts": [true, ...], "compile_us": 120} or {"error": "..."}.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "grammar/json_schema/json_schema.h"

namespace puna {
namespace {

base::Json outcome(const std::string& line, const grammar::JsonSchemaOptions& options) {
  const auto input = base::Json::parse(line, 200);
  if (!input) return base::Json::object().set("error", input.error().text());
  const auto start = std::chrono::steady_clock::now();
  const auto compiled = grammar::compile_json_schema_text(input->find("schema")->dump(), options);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::steady_clock::now() - start)
                      .count();
  base::Json out = base::Json::object().set("compile_us", int64_t{us});
  if (!compiled) return out.set("error", compiled.error().text());
  base::Json accepts = base::Json::array();
  for (const base::Json& text : input->find("texts")->items()) {
    accepts.push(grammar::accepts(*compiled, text.string()));
  }
  return out.set("accepts", std::move(accepts));
}

int run(const grammar::JsonSchemaOptions& options) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::printf("%s\n", outcome(line, options).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace puna

int main(int argc, char** argv) {
  puna::grammar::JsonSchemaOptions options;
  // Other programs take their share of the machine here; what is asked is what is accepted.
  options.limits.compile_ms = 2000;
  if (argc == 2 && std::string_view(argv[1]) == "--strict") options.strict = true;
  return puna::run(options);
}
