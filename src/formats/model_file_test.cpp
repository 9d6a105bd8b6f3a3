#include "formats/model_file.h"

#include <doctest/doctest.h>

using namespace puna;
using namespace puna::formats;
using base::ErrorCode;

namespace {

ModelFile example() {
  ModelFile file;
  file.name = "model.gguf";
  file.metadata = {{"text", std::string("t")},        {"u", uint64_t{7}}, {"i", int64_t{5}},
                   {"negative", int64_t{-5}},         {"d", 0.5},         {"b", true},
                   {"list", std::vector<uint64_t>{1}}};
  return file;
}

}  // namespace

TEST_CASE("getters give values of their kind") {
  const ModelFile file = example();
  CHECK(file.get_string("text").value() == "t");
  CHECK(file.get_uint("u").value() == 7);
  CHECK(file.get_uint("i").value() == 5);
  CHECK(file.get_float("d").value() == 0.5);
  CHECK(file.get_float("u").value() == 7.0);
  CHECK(file.get_float("negative").value() == -5.0);
  CHECK(file.get_bool("b").value());
}

TEST_CASE("a missing key is not found, unless there is a default") {
  const ModelFile file = example();
  const auto missing = file.get_uint("llama.block_count");
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(missing.error().message ==
        "The metadata key \"llama.block_count\" is missing in model.gguf.");
  CHECK(file.get_uint("x", 3).value() == 3);
  CHECK(file.get_string("x", "y").value() == "y");
  CHECK(file.get_float("x", 1.5).value() == 1.5);
  CHECK(file.get_bool("x", true).value());
  CHECK(file.get_uint("u", 3).value() == 7);
}

TEST_CASE("a value of another kind is an error, default or not") {
  const ModelFile file = example();
  CHECK(file.get_uint("text").error().code == ErrorCode::kCorrupt);
  CHECK(file.get_uint("text").error().message ==
        "The metadata key \"text\" is \"t\" (a string), not a whole number from 0.");
  CHECK(file.get_uint("negative").error().message ==
        "The metadata key \"negative\" is -5 (an integer), not a whole number from 0.");
  CHECK(!file.get_uint("text", 3));
  CHECK(!file.get_string("u"));
  CHECK(!file.get_bool("u", true));
}

TEST_CASE("tensors are found by name once indexed") {
  ModelFile file;
  file.tensors.resize(1000);
  for (int i = 0; i < 1000; ++i) file.tensors[i].name = "blk." + std::to_string(i);
  file.index();
  for (int i = 0; i < 1000; i += 37)
    CHECK(file.find_tensor("blk." + std::to_string(i)) == &file.tensors[i]);
  CHECK(file.find_tensor("blk.1000") == nullptr);
}
