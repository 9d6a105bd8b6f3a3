#include "cli/plan_warnings.h"

#include <map>
#include <tuple>

#include "base/log.h"

namespace puna::cli {

namespace {

using formats::ModelFile;
using formats::Tensor;
using formats::TensorPlan;

std::string_view name_of(quant::Type type) { return quant::info(type).name; }

// Requantizing adds a second rounding error to the first.
void warn_of_requantizing(const ModelFile& in, std::span<const TensorPlan> plans) {
  size_t n = 0;
  const Tensor* example = nullptr;
  for (size_t i = 0; i < plans.size(); ++i) {
    const Tensor& t = in.tensors[i];
    if (plans[i].opaque) continue;
    const bool both =
        quant::info(t.type).block_elements > 1 && quant::info(plans[i].type).block_elements > 1;
    const bool same = t.type == quant::Type::kQ4F16_1 && plans[i].type == quant::Type::kQ4_0;
    if (t.type == plans[i].type || same || !both) continue;
    if (n++ == 0) example = &t;
  }
  if (n > 0) {
    base::log_warning(
        "{} tensors are quantized already ({} is {}) and lose twice; start from an f32, f16 or "
        "bf16 file for the best result.",
        n, example->name, name_of(example->type));
  }
}

// Rows that are no whole number of a type's blocks get another type.
void warn_of_fallbacks(const ModelFile& in, std::span<const TensorPlan> plans) {
  std::map<std::tuple<uint64_t, quant::Type, quant::Type>, size_t> counts;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].type != plans[i].wanted)
      ++counts[{in.tensors[i].columns(), plans[i].wanted, plans[i].type}];
  }
  for (const auto& [reason, n] : counts) {
    const auto& [columns, wanted, type] = reason;
    base::log_warning(
        "{} of {} tensors: rows of {} do not fit {} (blocks of {}), {} is taken "
        "instead.",
        n, plans.size(), columns, name_of(wanted), quant::info(wanted).block_elements,
        name_of(type));
  }
}

void warn_of_unknown_types(const ModelFile& in, std::span<const TensorPlan> plans) {
  std::map<std::string, std::pair<size_t, const Tensor*>> counts;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].opaque) continue;
    auto& [n, example] = counts[in.tensors[i].type_name()];
    if (n++ == 0) example = &in.tensors[i];
  }
  for (const auto& [type, count] : counts) {
    base::log_warning("{} of {} tensors ({}) have {}, which is not known: their bytes are copied.",
                      count.first, plans.size(), count.second->name, type);
  }
}

}  // namespace

void warn_of_plans(const ModelFile& in, std::span<const TensorPlan> plans) {
  warn_of_unknown_types(in, plans);
  warn_of_requantizing(in, plans);
  warn_of_fallbacks(in, plans);
}

}  // namespace puna::cli
