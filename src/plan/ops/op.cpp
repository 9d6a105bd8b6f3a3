#include "plan/ops/op.h"

namespace puna::plan {
namespace {

// All values but those it does only `not_this` with.
std::vector<ValueId> values(const Op& op, Use not_this) {
  std::vector<ValueId> out;
  const auto collect = [&](ValueId value, Use use) {
    if (use != not_this) out.push_back(value);
  };
  std::visit([&]<class T>(const T& o) { T::values(o, collect); }, op);
  return out;
}

}  // namespace

std::string label(const Op& op) {
  return std::visit([](const auto& o) { return std::string(o.label); }, op);
}

std::vector<ValueId> reads(const Op& op) { return values(op, Use::kWrite); }
std::vector<ValueId> writes(const Op& op) { return values(op, Use::kRead); }

void rename(Op& op, ValueId from, ValueId to) {
  const auto change = [&](ValueId& value, Use) {
    if (value == from) value = to;
  };
  std::visit([&]<class T>(T& o) { T::values(o, change); }, op);
}

bool keeps_rows_apart(const Op& op) {
  return std::visit([]<class T>(const T&) { return requires { T::kKeepsRowsApart; }; }, op);
}

std::vector<WeightId> weights(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::vector<WeightId> {
        if constexpr (requires { o.weights(); }) return o.weights();
        return {};
      },
      op);
}

std::vector<Constant> constants(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::vector<Constant> {
        if constexpr (requires { o.constants(); }) return o.constants();
        return {};
      },
      op);
}

uint64_t gpu_scratch_bytes(const Op& op, const GpuLowering& at) {
  return std::visit(
      [&](const auto& o) -> uint64_t {
        if constexpr (requires { o.gpu_scratch_bytes(at); }) return o.gpu_scratch_bytes(at);
        return 0;
      },
      op);
}

uint64_t cpu_scratch_bytes(const Op& op, const Graph& graph, uint32_t rows, int n_threads) {
  return std::visit(
      [&](const auto& o) -> uint64_t {
        if constexpr (requires { o.cpu_scratch_bytes(graph, rows, n_threads); })
          return o.cpu_scratch_bytes(graph, rows, n_threads);
        return 0;
      },
      op);
}

}  // namespace puna::plan
