#include "kernels/repack/repack.h"

#include <doctest/doctest.h>

#include "quant/planes.h"

using namespace puna;
using namespace puna::kernels;

namespace {

RepackArgs args_for(quant::Type type, uint32_t rows, uint32_t cols) {
  RepackArgs args;
  args.label = "w";
  args.type = type;
  args.rows = rows;
  args.cols = cols;
  args.staged = {1, 0, 1 << 20};
  args.planes = {2, 0, quant::plane_layout(type, rows, cols).bytes};
  return args;
}

}  // namespace

TEST_CASE("repack has a template for every type") {
  for (const quant::TypeInfo& type : quant::types()) {
    CAPTURE(type.name);
    const auto call = repack(args_for(type.type, 10, 512));
    REQUIRE(call);
    const auto text = expand(*call, {});
    REQUIRE_MESSAGE(text, text.error().text());
    CHECK(text->find("fn repack_unit") != std::string::npos);
    CHECK(text->find('#') == std::string::npos);
  }
}

TEST_CASE("pieces that would write half a group or half a block are refused by name") {
  const RepackArgs args = args_for(quant::Type::kQ4_K, 10, 512);
  const auto message = [&](RepackPiece piece) {
    const auto params = repack_params(args, piece);
    return params ? std::string() : params.error().message;
  };
  CHECK(message({0, 10, 0, 512, 6}).empty());
  CHECK(message({8, 2, 256, 256}).empty());
  CHECK(message({2, 4, 0, 512}) == "A piece of w has first_row = 2.");
  CHECK(message({0, 3, 0, 512}) == "A piece of w has n_rows = 3.");
  CHECK(message({8, 4, 0, 512}) == "A piece of w has n_rows = 4.");
  CHECK(message({0, 10, 128, 256}) == "A piece of w has first_col = 128.");
  CHECK(message({0, 10, 0, 128}) == "A piece of w has n_cols = 128.");
  CHECK(message({0, 10, 0, 512, 1 << 20}) ==
        "A piece of w has end in the staging buffer = 1051456.");
}

TEST_CASE("a weight of no whole number of blocks has no planes") {
  RepackArgs args = args_for(quant::Type::kQ4_K, 4, 256);
  args.cols = 255;
  const auto call = repack(args);
  REQUIRE_FALSE(call);
  CHECK(call.error().message ==
        "The weight of w is 4 x 255, which q4_k in blocks of 256 cannot be.");
  args.cols = 512;
  CHECK_FALSE(repack(args));  // the slice is too small now
}
