#include "engine/encoder_batch.h"

#include <algorithm>
#include <bit>
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

}  // namespace

BatchLayout batch_tiles(plan::Graph& graph, uint32_t rows_of_output) {
  BatchLayout layout;
  layout.rows_of_output = rows_of_output;
  std::vector<plan::ValueId> spans;
  const auto tiles = static_cast<plan::ValueId>(graph.values.size());
  graph.values.push_back({"tiles", 2, plan::Rows::kTokens});
  for (plan::Op& op : graph.ops) {
    auto* const attention = std::get_if<plan::OwnAttentionOp>(&op);
    if (!attention) continue;
    if (attention->spans) spans.push_back(*attention->spans);
    if (!attention->spans) attention->spans = tiles;
  }
  for (const plan::ValueId input : graph.takes_over) {
    layout.inputs.push_back(
        {graph.values[input].columns, std::ranges::find(spans, input) != spans.end()});
  }
  graph.takes_over.push_back(tiles);
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
      append(layout.inputs[i], left.first(n), out.n_rows, tile.n_rows, padded, inputs[i]);
      left = left.subspan(n);
    }
    PUNA_CHECK(left.empty());
    for (uint32_t i = 0; i < padded; ++i)
      append_words(out.n_rows, out.n_rows + tile.n_rows, inputs.back());
    out.tiles.push_back({out.n_outputs, tile.cells, std::move(tile.places)});
    out.n_rows += padded;
    out.n_outputs += padded / layout.rows_of_output;
  }
  for (const std::vector<float>& input : inputs)
    out.inputs.insert(out.inputs.end(), input.begin(), input.end());
  return out;
}

}  // namespace puna::engine
