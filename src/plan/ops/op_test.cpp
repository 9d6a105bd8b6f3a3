#include "plan/ops/op.h"

#include <doctest/doctest.h>

using namespace puna::plan;
using Ids = std::vector<ValueId>;

TEST_CASE("an op reads and writes what it updates in place, and nothing that it lacks") {
  CHECK(reads(AddOp{"sum", 1, 2}) == Ids{1, 2});
  CHECK(writes(AddOp{"sum", 1, 2}) == Ids{2});
  const NormOp plain{"norm", 1, {}, {}, 0, 3};
  CHECK(reads(plain) == Ids{1});
  CHECK(writes(plain) == Ids{3});
  const NormOp onto_residual{"norm", 1, 0, 2, 0, 3};
  CHECK(reads(onto_residual) == Ids{1, 2});
  CHECK(writes(onto_residual) == Ids{2, 3});
}

TEST_CASE("a product works on what its epilogue and the norms it stands in for do") {
  MatmulOp product{"product", 0, 1, 2};
  CHECK(reads(product) == Ids{1});
  CHECK(writes(product) == Ids{2});
  product.epilogue = puna::kernels::Epilogue::kAdd;
  product.x_norm = NormOp{"norm", 4, {}, {}, 0, 1};
  product.y_norm = NormOp{"norm", 2, {}, {}, 0, 5};
  CHECK(reads(product) == Ids{1, 4, 2});
  CHECK(writes(product) == Ids{2, 5});
}

TEST_CASE("a renamed value is renamed wherever the op uses it") {
  Op op = MatmulOp{"product", 0, 1, 1};
  rename(op, 1, 7);
  CHECK(reads(op) == Ids{7});
  CHECK(writes(op) == Ids{7});
  op = NormOp{"norm", 1, {}, 2, 0, 3};
  rename(op, 2, 9);
  CHECK(reads(op) == Ids{1, 9});
  CHECK(writes(op) == Ids{9, 3});
}

TEST_CASE("ops say what they are called, which weights they read and which constants they need") {
  CHECK(label(EmbedOp{4, 0}) == "embed");
  CHECK(label(GateOp{"blk.3.gate", 0, 1}) == "blk.3.gate");
  CHECK(weights(MatmulOp{"product", 5, 1, 2}) == std::vector<WeightId>{5});
  CHECK(weights(GateOp{"gate", 0, 1}).empty());
  CHECK(constants(NormOp{"norm", 1, 8, 2, 9, 3}) == std::vector<Constant>{{{9}}, {{8}}});
  CHECK(constants(GateOp{"gate", 0, 1}).empty());
}

TEST_CASE("ops that look at other rows of the step do not keep rows apart") {
  CHECK(keeps_rows_apart(MatmulOp{"product", 0, 1, 2}));
  CHECK(!keeps_rows_apart(AttentionOp{"attention", 0, 1, 2}));
  CHECK(!keeps_rows_apart(GatherOp{1, 2}));
}
