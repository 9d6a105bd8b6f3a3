// What a user is told of a model that is about to be written again.
#pragma once

#include <span>

#include "formats/quantize_plan.h"

namespace puna::cli {

// Warns of tensors that get another type than asked for, lose twice, or are copied unseen: one line
// for each reason.
void warn_of_plans(const formats::ModelFile& in, std::span<const formats::TensorPlan> plans);

}  // namespace puna::cli
