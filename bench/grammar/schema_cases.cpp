// Which texts the grammars of JSON schemas accept, for suite.py and random_schemas.py.
// usage: puna_schema_cases [--strict] < CASES
//   (a line each: {"schema": SCHEMA, "texts": [TEXT], "samples": NUMBER})
// Writes a line for each: {"accepts": [true, ...], "samples": [TEXT], "compile_us": 120} or
// {"error": "..."}. Samples are texts that the grammar led to, byte by byte, at random; those that
// did not end soon are left out. "dead_end" is one that nothing can follow, which is a bug.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "grammar/json_schema/json_schema.h"
#include "grammar/reading.h"

namespace puna {
namespace {

class Sampler {
 public:
  explicit Sampler(uint32_t seed) : random_(seed) {}

  // Adds a text to `out`.
  void sample(const std::shared_ptr<const grammar::Grammar>& grammar, base::Json& out) {
    static constexpr size_t kMostBytes = 300;
    grammar::Reading reading(grammar);
    std::string text;
    while (text.size() < kMostBytes) {
      reading.settle();
      if (reading.complete() && random_() % 2 == 0) break;
      // What closes something goes first half of the time, so that texts end.
      std::string bytes = random_() % 2 == 0 ? "\"]}" : "";
      const auto first = static_cast<uint32_t>(random_());
      for (uint32_t i = 0; i < 256; ++i) bytes += static_cast<char>(first + i * 37);
      bool goes_on = false;
      for (size_t i = 0; i < bytes.size() && !goes_on; ++i) {
        goes_on = reading.push(static_cast<uint8_t>(bytes[i]));
        if (goes_on) text += bytes[i];
      }
      if (goes_on) continue;
      if (!reading.complete()) {
        out.set("dead_end", text);
        return;
      }
      break;
    }
    reading.settle();
    if (!reading.complete()) return;
    base::Json samples = *out.find("samples");
    out.set("samples", std::move(samples.push(text)));
  }

 private:
  std::minstd_rand random_;
};

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
  out.set("accepts", std::move(accepts)).set("samples", base::Json::array());
  Sampler sampler(/*seed=*/1);
  const base::Json* wanted = input->find("samples");
  for (int64_t i = 0; wanted != nullptr && i < wanted->integer(); ++i) {
    sampler.sample(*compiled, out);
  }
  return out;
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
