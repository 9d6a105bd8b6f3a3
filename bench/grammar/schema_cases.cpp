// Which texts the grammars of JSON schemas accept, for suite.py and random_schemas.py.
// usage: puna_schema_cases [--strict] < CASES    (a line each: {"schema": SCHEMA, "texts": [TEXT]})
// Writes a line for each: {"accepts": [true, ...], "compile_us": 120} or {"error": "..."}.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>

#include "grammar/json_schema/json_schema.h"

namespace puna {
namespace {

base::Json outcome(const std::string& line, const grammar::JsonSchemaOptions& options) {
  const auto input = base::Json::parse(line, 200);
  if (!input) return base::Json::object().set("error", input.error().text());
  // Of the processor, since other programs take their share of the machine.
  const std::clock_t start = std::clock();
  const auto compiled = grammar::compile_json_schema_text(input->find("schema")->dump(), options);
  const auto us = static_cast<int64_t>((std::clock() - start) * (1'000'000 / CLOCKS_PER_SEC));
  base::Json out = base::Json::object().set("compile_us", us);
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
  // What is asked is what is accepted, however busy the machine is.
  options.limits.compile_ms = 10'000;
  if (argc == 2 && std::string_view(argv[1]) == "--strict") options.strict = true;
  return puna::run(options);
}
