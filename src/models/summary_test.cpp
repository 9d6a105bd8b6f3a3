// What `inspect` says of a model, the same before and after fusion.
#include "models/summary.h"

#include <doctest/doctest.h>

#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"
#include "plan/fuse.h"

namespace puna::models {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(const formats::ModelFile& file) {
  auto config = read_config(file);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  auto graph = build(file, *config);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
  const Lines plain = summary(*config, *graph);
  CHECK(summary(*config, plan::fuse(*std::move(graph))) == plain);
  return plain;
}

std::string line(const Lines& lines, std::string_view what) {
  for (const auto& [name, text] : lines) {
    if (name == what) return text;
  }
  return "";
}

TEST_CASE("a summary says what kinds of layers there are and what they keep") {
  const Lines llama = lines_of(fixtures::tiny_model({.architecture = "llama"}));
  CHECK(line(llama, "layers") == "2, 64 wide");
  CHECK(line(llama, "attention") == "4 heads over 2 KV heads of 16 elements");
  CHECK(line(llama, "cache") == "128 values a token");
  CHECK(line(llama, "gives") == "logits");
  CHECK(line(llama, "experts").empty());
  CHECK(line(llama, "state").empty());

  const Lines gemma = lines_of(fixtures::tiny_model({.architecture = "gemma3"}));
  CHECK(line(gemma, "attention").find(", a window of ") != std::string::npos);
  CHECK(line(gemma, "positions").find(" and ") != std::string::npos);  // a base for each kind

  const Lines bert = lines_of(fixtures::tiny_model({.architecture = "bert"}));
  CHECK(line(bert, "attention").ends_with(", every token sees all"));
  CHECK(line(bert, "positions") == "learned");
  CHECK(line(bert, "gives").starts_with("embeddings of 64, pooling "));

  CHECK(line(lines_of(fixtures::tiny_model({.architecture = "gpt2"})), "positions") == "learned");
  CHECK(line(lines_of(fixtures::tiny_model({.architecture = "mpt"})), "positions") ==
        "by the distance (ALiBi)");
}

TEST_CASE("a summary names the recurrent layers and their state") {
  const auto state = [](const char* architecture) {
    fixtures::TinyShape shape;
    shape.architecture = architecture;
    return line(lines_of(fixtures::tiny_recurrent_model(shape)), "state");
  };
  CHECK(state("lfm2").starts_with("short convolution in 1 of 2 layers, "));
  CHECK(state("qwen35").starts_with("gated delta rule in 1 of 2 layers, "));
  CHECK(state("falcon-h1").starts_with("Mamba-2 in every layer, "));
  CHECK(state("jamba").starts_with("Mamba in 1 of 2 layers, "));
}

}  // namespace
}  // namespace puna::models
