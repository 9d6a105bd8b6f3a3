#include "engine/encoder_batch.h"

#include <bit>
#include <map>
#include <utility>
#include <variant>

#include "base/check.h"

namespace puna::engine {
namespace {

void append_words(uint32_t first, uint32_t end, std::vector<float>& out) {
  out.push_back(std::bit_cast<float>(first));
  out.push_back(std::bit_cast<float>(end));
}

// One input of one tile, and of the rows that fill it up: zeros, or what the tile itself sees.
void append(const BatchLayout::Input& input, std::span<const float> values, uint32_t first_row,
            uint32_t n_rows, uint32_t padded, std::vector<float>& out) {
  const size_t n_filled = padded - n_rows;
  if (!input.spans) {
    out.insert(out.end(), values.begin(), values.end());
    out.resize(out.size() + n_filled * input.columns, 0.0f);
    return;
  }
  for (const float value : values)
    out.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(value) + first_row));
  for (size_t i = 0; i < n_filled; ++i) append_words(first_row, first_row + n_rows, out);
}

// Of products, by what they run over.
void count_products(const plan::Graph& graph, BatchLayout& layout) {
  for (const plan::Op& op : graph.ops) {
    const auto* const product = std::get_if<plan::MatmulOp>(&op);
    if (!product) continue;
    const plan::WeightSpec& weight = graph.weights[product->weight];
    const bool of_rows = graph.values[product->x].rows == plan::Rows::kTokens;
    (of_rows ? layout.row_flops : layout.output_flops) += 2.0 * weight.rows * weight.columns;
  }
}

// Rows that the rows of one tile see, by the words of its spans.
double n_seen(std::span<const float> spans) {
  double n = 0;
  for (size_t i = 0; i + 1 < spans.size(); i += 2)
    n += std::bit_cast<uint32_t>(spans[i + 1]) - std::bit_cast<uint32_t>(spans[i]);
  return n;
}

}  // namespace

BatchLayout batch_tiles(plan::Graph& graph, uint32_t rows_of_output) {
  BatchLayout layout;
  layout.rows_of_output = rows_of_output;
  count_products(graph, layout);
  std::map<plan::ValueId, double> flops;  // by the spans
  const auto tiles = static_cast<plan::ValueId>(graph.values.size());
  graph.values.push_back({"tiles", 2, plan::Rows::kTokens});
  for (plan::Op& op : graph.ops) {
    auto* const attention = std::get_if<plan::OwnAttentionOp>(&op);
    if (!attention) continue;
    if (!attention->spans) attention->spans = tiles;
    // Scores and weighted values.
    flops[*attention->spans] += 4.0 * graph.n_heads * attention->head_dim;
  }
  for (const plan::ValueId input : graph.takes_over) {
    layout.inputs.push_back({graph.values[input].columns, flops.contains(input), flops[input]});
  }
  graph.takes_over.push_back(tiles);
  layout.tile_flops = flops[tiles];
  return layout;
}

EncoderBatch join_tiles(const BatchLayout& layout, std::vector<models::EncoderRows> tiles) {
  EncoderBatch out;
  std::vector<std::vector<float>> inputs(layout.inputs.size() + 1);
  for (models::EncoderRows& tile : tiles) {
    const uint32_t padded = layout.padded(tile.n_rows);
    std::span<const float> left = tile.inputs;
    for (size_t i = 0; i < layout.inputs.size(); ++i) {
      const size_t n = size_t{tile.n_rows} * layout.inputs[i].columns;
      PUNA_CHECK(n <= left.size());
      if (layout.inputs[i].spans) out.flops += layout.inputs[i].flops * n_seen(left.first(n));
      append(layout.inputs[i], left.first(n), out.n_rows, tile.n_rows, padded, inputs[i]);
      left = left.subspan(n);
    }
    PUNA_CHECK(left.empty());
    for (uint32_t i = 0; i < padded; ++i)
      append_words(out.n_rows, out.n_rows + tile.n_rows, inputs.back());
    out.tiles.push_back({out.n_outputs, tile.cells, std::move(tile.places)});
    out.flops += layout.row_flops * tile.n_rows + layout.output_flops * tile.n_outputs +
                 layout.tile_flops * tile.n_rows * tile.n_rows;
    out.n_rows += padded;
    out.n_outputs += padded / layout.rows_of_output;
  }
  for (const std::vector<float>& input : inputs)
    out.inputs.insert(out.inputs.end(), input.begin(), input.end());
  return out;
}

}  // namespace puna::engine
