// Every shape is a model that its architecture takes.
#include "models/synthetic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/models.h"

namespace puna::models {
namespace {

std::vector<std::string> shapes() {
  std::vector<std::string> out(1);
  for (const char c : synthetic_shapes()) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != ' ') {
      out.back() += c;
    }
  }
  return out;
}

formats::ModelFile make(const std::string& shape_and_type) {
  auto file = synthetic_model(shape_and_type);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return *std::move(file);
}

TEST_CASE("the graph of each synthetic shape is built") {
  CHECK(shapes().size() >= 12);
  for (const std::string& shape : shapes()) {
    CAPTURE(shape);
    const formats::ModelFile file = make(shape + ":q4_k_m");
    const auto config = read_config(file);
    REQUIRE_MESSAGE(config.has_value(), config.error().text());
    const auto graph = build(file, *config);
    REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
    for (const formats::Tensor& t : file.tensors) CHECK(t.usable());
  }
}

TEST_CASE("a synthetic mixture has the experts of the model that it is named after") {
  const formats::ModelFile file = make("qwen3-30b-a3b:q4_k_m");
  uint64_t n = 0, experts = 0, bytes = 0;
  for (const formats::Tensor& t : file.tensors) {
    n += t.rows() * t.columns();
    bytes += t.bytes;
    if (t.name.find("_exps.") != std::string::npos) experts += t.rows() * t.columns();
  }
  CHECK(n == 30'532'122'624);  // as its makers count
  CHECK(experts == uint64_t{48} * 128 * 3 * 768 * 2048);
  CHECK((bytes >> 20) == 17'691);  // a file of llama-quantize has 17,697 with its vocabulary
  const formats::Tensor* router = file.find_tensor("blk.47.ffn_gate_inp.weight");
  REQUIRE(router);
  CHECK(router->type == quant::Type::kF32);
  CHECK(router->shape == std::vector<uint64_t>{128, 2048});
  const formats::Tensor* down = file.find_tensor("blk.0.ffn_down_exps.weight");
  REQUIRE(down);
  CHECK(down->type == quant::Type::kQ6_K);
  CHECK(down->shape == std::vector<uint64_t>{128, 2048, 768});
}

}  // namespace
}  // namespace puna::models
