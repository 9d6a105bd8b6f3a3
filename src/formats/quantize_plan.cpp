#include "formats/quantize_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace puna::formats {

namespace {

// The number after "blk.", or -1.
int layer_of(std::string_view name) {
  if (!name.starts_with("blk.")) return -1;
  int layer = 0;
  size_t i = 4;
  for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && layer < 100000; ++i)
    layer = layer * 10 + (name[i] - '0');
  return i > 4 && i < name.size() && name[i] == '.' ? layer : -1;
}

// Dimensions without leading ones: a [1, 64] tensor is a vector.
size_t true_dimensions(const Tensor& tensor) {
  const auto first =
      std::find_if(tensor.shape.begin(), tensor.shape.end(), [](uint64_t n) { return n != 1; });
  return static_cast<size_t>(tensor.shape.end() - first);
}

bool is_attention_value(std::string_view name) {
  return name.find("attn_v.weight") != std::string_view::npos ||
         name.find("attn_qkv.weight") != std::string_view::npos ||
         name.find("attn_kv_b.weight") != std::string_view::npos;
}

uint64_t model_number(const ModelFile& model, std::string_view key, uint64_t otherwise) {
  const auto architecture = model.get_string("general.architecture", "");
  if (!architecture) return otherwise;
  return model.get_uint(fmt::format("{}.{}", *architecture, key), otherwise).value_or(otherwise);
}

quant::MixModel describe(const ModelFile& model) {
  quant::MixModel described;
  const auto number = [&](std::string_view key, uint64_t otherwise) {
    return static_cast<int>(std::min<uint64_t>(model_number(model, key, otherwise), 1 << 20));
  };
  described.n_layers = number("block_count", 0);
  described.n_experts = number("expert_count", 0);
  described.tied_embeddings = model.find_tensor("output.weight") == nullptr;
  const int n_heads = number("attention.head_count", 1);
  described.n_gqa =
      n_heads / std::max(1, number("attention.head_count_kv", static_cast<uint64_t>(n_heads)));
  return described;
}

// Finds the type that the mix has for each matrix.
class MixRules {
 public:
  MixRules(const ModelFile& model, const quant::Mix& mix) : mix_(mix), model_(describe(model)) {
    for (const Tensor& tensor : model.tensors) {
      if (is_attention_value(tensor.name)) value_layers_.push_back(layer_of(tensor.name));
    }
    std::ranges::sort(value_layers_);
  }

  quant::Type wanted(const std::string& name) const {
    quant::MixModel counted = model_;
    int layer = layer_of(name);
    if (is_attention_value(name)) {
      counted.n_layers = static_cast<int>(value_layers_.size());
      layer =
          static_cast<int>(std::ranges::lower_bound(value_layers_, layer) - value_layers_.begin());
    }
    return quant::wanted_type(mix_, name, layer, counted);
  }

 private:
  const quant::Mix& mix_;
  quant::MixModel model_;
  // Hybrid models have attn_v in some layers only, and the rule counts those.
  std::vector<int> value_layers_;
};

uint64_t bytes_to_next(const ModelFile& model, const Tensor& tensor) {
  uint64_t end = model.sources[tensor.source]->size();
  for (const Tensor& other : model.tensors) {
    if (other.source == tensor.source && other.offset > tensor.offset)
      end = std::min(end, other.offset);
  }
  return end - tensor.offset;
}

}  // namespace

std::vector<TensorPlan> plan_tensors(const ModelFile& model, const QuantizeOptions& options) {
  std::optional<MixRules> rules;
  if (options.mix) rules.emplace(model, *options.mix);
  std::vector<TensorPlan> plans;
  plans.reserve(model.tensors.size());
  for (const Tensor& tensor : model.tensors) {
    if (!tensor.usable()) {
      plans.push_back({tensor.type, tensor.type, bytes_to_next(model, tensor), /*opaque=*/true});
      continue;
    }
    quant::Type wanted = tensor.type;
    if (tensor.bytes > 0 && rules && quant::is_mixed(tensor.name, true_dimensions(tensor))) {
      wanted = options.pure ? options.mix->base : rules->wanted(tensor.name);
    } else if (!rules && tensor.type == quant::Type::kQ4F16_1) {
      wanted = quant::Type::kQ4_0;
    }
    const quant::Type type = quant::fitting_type(wanted, tensor.columns());
    plans.push_back({type, wanted, tensor.rows() * quant::row_bytes(type, tensor.columns())});
  }
  return plans;
}

}  // namespace puna::formats
