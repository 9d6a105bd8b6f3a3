#include "formats/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "formats/gguf_writer.h"
#include "quant/q4f16_1.h"

namespace puna::formats {

namespace {

using base::Result;
using base::Task;

// Every block length divides the unit, so a piece of whole units is whole blocks of both types.
constexpr size_t kUnitElements = 256;
constexpr uint64_t kPieceElements = uint64_t{1} << 20;

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

// The pair that general.* readers show; added where the input has none.
void set_metadata(std::vector<std::pair<std::string, Value>>& metadata, std::string_view key,
                  uint64_t value) {
  for (auto& [name, old] : metadata) {
    if (name != key) continue;
    old = value;
    return;
  }
  metadata.emplace_back(std::string(key), value);
}

// One piece of a tensor on its way from one type to another.
struct Piece {
  std::vector<std::byte> in, out;
  std::vector<float> values;

  void convert(const quant::TypeInfo& from, const quant::TypeInfo& to, size_t n,
               base::ThreadPool& pool) {
    values.resize(n);
    out.resize(static_cast<size_t>(quant::row_bytes(to.type, n)));
    const auto units = static_cast<uint32_t>((n + kUnitElements - 1) / kUnitElements);
    pool.run(units, /*grain=*/16, [&](uint32_t begin, uint32_t end) {
      const size_t first = size_t{begin} * kUnitElements;
      const size_t count = std::min(n, size_t{end} * kUnitElements) - first;
      if (from.type == quant::Type::kQ4F16_1 && to.type == quant::Type::kQ4_0) {
        quant::q4_0_of_q4f16_1(in.data() + quant::row_bytes(from.type, first),
                               out.data() + quant::row_bytes(to.type, first), count);
        return;
      }
      from.decode(in.data() + quant::row_bytes(from.type, first), values.data() + first, count);
      to.encode(values.data() + first, out.data() + quant::row_bytes(to.type, first), count);
    });
  }
};

}  // namespace

std::vector<quant::Type> quantized_types(const ModelFile& model, const QuantizeOptions& options) {
  if (!options.mix) {
    std::vector<quant::Type> own;
    for (const Tensor& tensor : model.tensors) {
      const bool is_mlc = tensor.type == quant::Type::kQ4F16_1;
      own.push_back(is_mlc ? quant::Type::kQ4_0 : tensor.type);
    }
    return own;
  }
  const quant::MixModel described = describe(model);
  std::vector<int>
      value_layers;  // hybrid models have attn_v in some layers only, and the rule counts those
  for (const Tensor& tensor : model.tensors) {
    if (is_attention_value(tensor.name)) value_layers.push_back(layer_of(tensor.name));
  }
  std::sort(value_layers.begin(), value_layers.end());

  std::vector<quant::Type> types;
  types.reserve(model.tensors.size());
  for (const Tensor& tensor : model.tensors) {
    if (!quant::is_mixed(tensor.name, true_dimensions(tensor))) {
      types.push_back(tensor.type);
      continue;
    }
    if (options.pure) {
      const bool fits = tensor.columns() % quant::info(options.mix->base).block_elements == 0;
      types.push_back(fits ? options.mix->base : quant::Type::kF16);
      continue;
    }
    quant::MixModel counted = described;
    int layer = layer_of(tensor.name);
    if (is_attention_value(tensor.name)) {
      counted.n_layers = static_cast<int>(value_layers.size());
      layer = static_cast<int>(std::lower_bound(value_layers.begin(), value_layers.end(), layer) -
                               value_layers.begin());
    }
    types.push_back(quant::type_of(*options.mix, tensor.name, layer, tensor.columns(), counted));
  }
  return types;
}

Task<Result<void>> quantize(ModelFile& model, QuantizeOptions options, io::ByteSink& out,
                            base::ThreadPool& pool, OnQuantizeProgress on_progress) {
  const std::vector<quant::Type> types = quantized_types(model, options);
  std::vector<GgufWriter::TensorInfo> infos;
  QuantizeProgress progress{};
  for (size_t i = 0; i < types.size(); ++i) {
    if (!model.tensors[i].usable()) co_return std::unexpected(model.tensors[i].unusable());
    if (types[i] != model.tensors[i].type && !quant::info(types[i]).encode) {
      co_return base::fail(
          base::ErrorCode::kUnsupported,
          fmt::format("Writing the type {} is not supported.", quant::info(types[i]).name));
    }
    if (quant::info(types[i]).gguf_id == quant::kNoGgufId) {
      co_return base::fail(
          base::ErrorCode::kUnsupported,
          fmt::format("Tensor \"{}\" has the type {}, which GGUF has not; give a type to write.",
                      model.tensors[i].name, quant::info(types[i]).name));
    }
    infos.push_back({model.tensors[i].name, types[i], model.tensors[i].shape});
    progress.total_bytes += model.tensors[i].bytes;
  }
  auto metadata = model.metadata;
  const quant::Mix* mix = options.mix;
  const bool is_mlc = std::ranges::any_of(
      model.tensors, [](const Tensor& t) { return t.type == quant::Type::kQ4F16_1; });
  if (!mix && is_mlc) mix = quant::find_mix("q4_0");
  if (mix) set_metadata(metadata, "general.file_type", mix->gguf_file_type);
  set_metadata(metadata, "general.quantization_version",
               2);  // of the K types' layout, as ggml counts

  GgufWriter writer(out);
  PUNA_CO_TRY(writer.begin(metadata, model.vocabulary, std::move(infos)));
  Piece piece;
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor& tensor = model.tensors[i];
    const quant::TypeInfo& from = quant::info(tensor.type);
    const quant::TypeInfo& to = quant::info(types[i]);
    const uint64_t n_elements = tensor.bytes / from.block_bytes * from.block_elements;
    progress.tensor = tensor.name;
    progress.from = from.type;
    progress.to = to.type;
    for (uint64_t done = 0; done < n_elements; done += kPieceElements) {
      if (on_progress && !on_progress(progress))
        co_return base::fail(base::ErrorCode::kCancelled, "Quantizing is stopped.");
      const auto n = static_cast<size_t>(std::min(kPieceElements, n_elements - done));
      piece.in.resize(static_cast<size_t>(quant::row_bytes(from.type, n)));
      auto reading = io::read(*model.sources[tensor.source],
                              tensor.offset + quant::row_bytes(from.type, done), piece.in);
      PUNA_CO_TRY_CONTEXT(co_await std::move(reading),
                          fmt::format("While reading tensor \"{}\"", tensor.name));
      if (from.type != to.type) piece.convert(from, to, n, pool);
      PUNA_CO_TRY(writer.write(from.type == to.type ? piece.in : piece.out));
      progress.done_bytes += piece.in.size();
    }
  }
  if (on_progress) on_progress(progress);
  co_return writer.finish();
}

}  // namespace puna::formats
