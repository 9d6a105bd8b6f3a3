// Tiles of an encoder in one run of its graph. Their rows stand one after the other, each tile's
// filled up to whole outputs; an input of spans, [rows, 2] of integers (first, end), says which
// rows see each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/vision/encoder.h"
#include "plan/graph.h"

namespace puna::engine {

// The inputs of an encoder's graph, in the order in which a step hands them over.
struct BatchLayout {
  struct Input {
    uint32_t columns = 0;
    bool spans = false;  // rows, which move with their tile
    double flops = 0;    // of spans: of attention of one row to one other
  };
  std::vector<Input> inputs;    // of the model; behind them the spans of tiles
  uint32_t rows_of_output = 1;  // rows of which the head makes one
  // Of products, with one row and with one output; of attention within tiles.
  double row_flops = 0, output_flops = 0, tile_flops = 0;

  uint32_t padded(uint32_t n_rows) const {
    return (n_rows + rows_of_output - 1) / rows_of_output * rows_of_output;
  }
};

// Gives the graph the spans of tiles as its last input, and has all attention that saw every row
// see those. To be called once, of a graph that is not fused.
BatchLayout batch_tiles(plan::Graph& graph, uint32_t rows_of_output);

struct EncoderBatch {
  struct Tile {
    uint32_t first_output = 0;
    models::Cells cells;
    std::vector<uint32_t> places;  // as EncoderRows has them, counted from its first output
  };
  uint32_t n_rows = 0, n_outputs = 0;
  std::vector<float> inputs;  // of each input in turn, [n_rows, columns]
  std::vector<Tile> tiles;
  double flops = 0;  // of products and attention
};
EncoderBatch join_tiles(const BatchLayout& layout, std::vector<models::EncoderRows> tiles);

}  // namespace puna::engine
