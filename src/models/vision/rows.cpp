// What an encoder reads of one tile: patches unfolded in the order in which cells stand together,
// what is added to them, their positions and windows; and where its outputs go.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/step.h"
#include "models/audio/cells.h"
#include "models/vision/arrange.h"
#include "models/vision/encoder.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;

namespace {

constexpr const char* kPositions = "v.position_embd.weight";
constexpr const char* kClass = "v.class_embd";
constexpr const char* kPatchBias = "v.patch_embd.bias";
constexpr const char* kBreak = "v.token_embd.img_break";
constexpr const char* kFramePositions = "a.position_embd.weight";

float word(uint32_t value) { return std::bit_cast<float>(value); }

// A tile in patches and cells.
struct Grid {
  uint32_t rows = 0, columns = 0;  // patches
  Cells cells;
};

struct Place {
  uint32_t row = 0, column = 0;
};

// Cells in the order in which they stand, and for each window where it ends.
struct CellOrder {
  std::vector<Place> cells;
  std::vector<uint32_t> window_ends;
};

CellOrder order_cells(const Cells& cells, uint32_t window) {
  const uint32_t high = window > 0 ? window : cells.rows,
                 wide = window > 0 ? window : cells.columns;
  CellOrder out;
  for (uint32_t top = 0; top < cells.rows; top += high) {
    for (uint32_t left = 0; left < cells.columns; left += wide) {
      for (uint32_t row = top; row < std::min(top + high, cells.rows); ++row) {
        for (uint32_t column = left; column < std::min(left + wide, cells.columns); ++column)
          out.cells.push_back({row, column});
      }
      out.window_ends.push_back(static_cast<uint32_t>(out.cells.size()));
    }
  }
  return out;
}

// Patches cell by cell, row by row within each.
std::vector<Place> order_patches(const std::vector<Place>& cells, uint32_t merge) {
  std::vector<Place> out;
  out.reserve(cells.size() * merge * merge);
  for (const Place& cell : cells) {
    for (uint32_t row = 0; row < merge; ++row) {
      for (uint32_t column = 0; column < merge; ++column)
        out.push_back({cell.row * merge + row, cell.column * merge + column});
    }
  }
  return out;
}

Result<Grid> grid_of(const EncoderConfig& c, uint32_t height, uint32_t width) {
  const uint32_t cell = c.patch_size * c.rows.merge;
  if (!c.rows.any_size && (height != c.image_size || width != c.image_size)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A tile is {} x {} pixels, but this encoder reads {} x {}.",
                                  width, height, c.image_size, c.image_size));
  }
  if (height == 0 || width == 0 || height % cell != 0 || width % cell != 0) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A tile is {} x {} pixels; both must be multiples of {} for this "
                                  "encoder.",
                                  width, height, cell));
  }
  const Grid grid{height / c.patch_size, width / c.patch_size, {height / cell, width / cell}};
  const uint64_t rows = uint64_t{grid.rows} * grid.columns + (c.rows.class_row ? 1 : 0);
  if (rows > kernels::kMaxStepRows) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A tile of {} x {} pixels has {} patches of {}; at most {} are "
                                  "encoded at once.",
                                  width, height, rows, c.patch_size, kernels::kMaxStepRows));
  }
  return grid;
}

const std::vector<float>& table(const EncoderTables& tables, std::string_view name) {
  static const std::vector<float> kNone;
  const auto found = tables.find(name);
  return found != tables.end() ? found->second : kNone;
}

// Values of each patch: a colour after the other, row by row.
void unfold(const EncoderConfig& c, const EncoderInput& tile, const std::vector<Place>& patches,
            std::vector<float>& out) {
  const size_t p = c.patch_size;
  for (const Place& patch : patches) {
    for (size_t colour = 0; colour < 3; ++colour) {
      for (size_t y = patch.row * p; y < (patch.row + 1) * p; ++y) {
        for (size_t x = patch.column * p; x < (patch.column + 1) * p; ++x) {
          const float v = tile.values[(y * tile.width + x) * 3 + colour];
          out.push_back(c.rows.signed_pixels ? 2 * v - 1 : v);
        }
      }
    }
  }
  if (c.rows.class_row) out.resize(out.size() + 3 * p * p, 0.0f);
}

void add_row(std::span<float> to, const float* row, float factor) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += factor * row[i];
}

// Where a line of n patches lies in a table of `side` rows, the first and last at its ends.
struct Between {
  uint32_t low = 0, high = 0;
  float part = 0;  // of the higher row
};
Between between(uint32_t i, uint32_t n, uint32_t side) {
  const double at = n > 1 ? static_cast<double>(i) * (side - 1) / (n - 1) : 0;
  const auto low = static_cast<uint32_t>(at);
  return {low, std::min(low + 1, side - 1), static_cast<float>(at - low)};
}

Result<void> check_table(const std::string& name, size_t elements, uint64_t rows,
                         uint64_t columns) {
  if (elements == rows * columns) return {};
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("Tensor \"{}\" has {} elements, but {} rows of {} are needed.",
                                name, elements, rows, columns));
}

// The rows that are added to the patches, and to the class row.
class Added {
 public:
  Added(const EncoderConfig& c, const EncoderTables& tables, const Grid& grid)
      : c_(c), tables_(tables), grid_(grid), positions_(table(tables, kPositions)) {}

  Result<void> append(const std::vector<Place>& patches, std::vector<float>& out) {
    PUNA_TRY(check());
    for (const Place& patch : patches) add_position(patch, next(out));
    if (!c_.rows.class_row) return {};
    const std::span<float> row = next(out);
    const std::vector<float>& token = table(tables_, kClass);
    PUNA_TRY(check_table(kClass, token.size(), 1, c_.hidden));
    add_row(row, token.data(), 1);
    add_row(row, positions_.data(), 1);
    // The product of no pixels is its bias.
    if (const std::vector<float>& bias = table(tables_, kPatchBias); !bias.empty())
      add_row(row, bias.data(), -1);
    return {};
  }

 private:
  std::span<float> next(std::vector<float>& out) const {
    out.resize(out.size() + c_.hidden, 0.0f);
    return std::span(out).last(c_.hidden);
  }
  const float* position(size_t row) const { return positions_.data() + row * c_.hidden; }

  Result<void> check() {
    const uint64_t rows = positions_.size() / c_.hidden;
    if (c_.rows.added == AddedRows::kTable) {
      const uint64_t wanted = uint64_t{grid_.rows} * grid_.columns + (c_.rows.class_row ? 1 : 0);
      return check_table(kPositions, positions_.size(), wanted, c_.hidden);
    }
    if (c_.rows.added == AddedRows::kInterpolated) {
      side_ = static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(rows))));
      return check_table(kPositions, positions_.size(), uint64_t{side_} * side_, c_.hidden);
    }
    side_ = static_cast<uint32_t>(rows / 2);
    PUNA_TRY(check_table(kPositions, positions_.size(), 2 * uint64_t{side_}, c_.hidden));
    if (std::max(grid_.rows, grid_.columns) <= side_) return {};
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A tile is {} x {} patches, but the encoder knows positions up "
                                  "to {}.",
                                  grid_.columns, grid_.rows, side_));
  }

  void add_position(const Place& patch, std::span<float> row) const {
    if (c_.rows.added == AddedRows::kTable) {
      const size_t at = size_t{patch.row} * grid_.columns + patch.column;
      add_row(row, position(at + (c_.rows.class_row ? 1 : 0)), 1);
    } else if (c_.rows.added == AddedRows::kByAxis) {
      add_row(row, position(patch.column), 1);
      add_row(row, position(size_t{side_} + patch.row), 1);
    } else {
      const Between y = between(patch.row, grid_.rows, side_);
      const Between x = between(patch.column, grid_.columns, side_);
      add_row(row, position(size_t{y.low} * side_ + x.low), (1 - y.part) * (1 - x.part));
      add_row(row, position(size_t{y.low} * side_ + x.high), (1 - y.part) * x.part);
      add_row(row, position(size_t{y.high} * side_ + x.low), y.part * (1 - x.part));
      add_row(row, position(size_t{y.high} * side_ + x.high), y.part * x.part);
    }
  }

  const EncoderConfig& c_;
  const EncoderTables& tables_;
  const Grid& grid_;
  const std::vector<float>& positions_;
  uint32_t side_ = 0;  // of the table
};

Result<EncoderRows> picture_rows(const EncoderConfig& c, const EncoderTables& tables,
                                 const EncoderInput& tile) {
  PUNA_TRY(const Grid grid, grid_of(c, tile.height, tile.width));
  const CellOrder order = order_cells(grid.cells, c.rows.window);
  const std::vector<Place> patches = order_patches(order.cells, c.rows.merge);
  EncoderRows out;
  out.n_rows = static_cast<uint32_t>(patches.size()) + (c.rows.class_row ? 1 : 0);
  out.n_outputs = static_cast<uint32_t>(order.cells.size());
  out.cells = grid.cells;
  unfold(c, tile, patches, out.inputs);
  if (c.rows.added != AddedRows::kNone)
    PUNA_TRY(Added(c, tables, grid).append(patches, out.inputs));
  if (c.rows.grid) {
    for (const Place& patch : patches) {
      const bool x_first = c.rows.added == AddedRows::kByAxis;
      const uint32_t first = x_first ? patch.column : patch.row;
      const uint32_t second = x_first ? patch.row : patch.column;
      out.inputs.insert(out.inputs.end(), {word(first), word(second), 0.0f, 0.0f});
    }
  }
  if (c.rows.window > 0) {
    const uint32_t of_cell = c.rows.merge * c.rows.merge;
    uint32_t first = 0;
    for (const uint32_t end : order.window_ends) {
      for (uint32_t i = first; i < end * of_cell; ++i)
        out.inputs.insert(out.inputs.end(), {word(first), word(end * of_cell)});
      first = end * of_cell;
    }
  }
  std::vector<uint32_t> raster(out.n_outputs);
  for (uint32_t i = 0; i < out.n_outputs; ++i)
    raster[order.cells[i].row * grid.cells.columns + order.cells[i].column] = i;
  for (uint32_t i = 0; i < out.n_outputs; ++i) {
    if (c.rows.breaks && i > 0 && i % grid.cells.columns == 0) out.places.push_back(kBreakRow);
    out.places.push_back(raster[i]);
  }
  return out;
}

// Rows of two frames each: those that are given, those of the sound, and what becomes of them.
struct SoundRows {
  uint32_t given = 0, sounding = 0, outputs = 0;
};

// Frames before the sound ends.
uint32_t sounding_frames(const EncoderInput& sound) {
  return sound.n_sounding > 0 ? std::min(sound.n_sounding, sound.width) : sound.width;
}

Result<SoundRows> count_sound(const EncoderConfig& c, const EncoderInput& sound) {
  if (sound.height != c.n_bins) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("A sound has {} mel bins, but this encoder reads {}.", sound.height, c.n_bins));
  }
  const SoundRecipe& recipe = c.sound;
  const uint32_t frames = sound.width;
  if (recipe.cells) {
    PUNA_TRY(const uint32_t rows, count_cell_rows(c, sounding_frames(sound)));
    return SoundRows{rows, rows, rows / recipe.stack};
  }
  const uint32_t sounding = recipe.sounding_only ? sounding_frames(sound) : frames;
  if (frames / 2 > kernels::kMaxStepRows - recipe.stack) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A sound has {} frames; at most {} are encoded at once.", frames,
                                  2 * (kernels::kMaxStepRows - recipe.stack)));
  }
  if (!recipe.sounding_only && (frames == 0 || frames % (2 * recipe.stack) != 0)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A sound has {} frames; this encoder reads a multiple of {}.",
                                  frames, 2 * recipe.stack));
  }
  if (sounding < recipe.least_frames()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A sound has {} frames; this encoder needs {} at the least.",
                                  sounding, recipe.least_frames()));
  }
  SoundRows out;
  out.sounding = (sounding + 1) / 2;
  out.outputs = (out.sounding + (recipe.partly ? recipe.stack - 1 : 0)) / recipe.stack;
  out.given = std::max(out.sounding, out.outputs * recipe.stack);
  return out;
}

// Three neighbouring frames of each bin, and the column of the bias; all zeros outside of first ..
// end - 1.
void unfold_frame(const EncoderInput& sound, int64_t frame, int64_t first, int64_t end,
                  std::vector<float>& out) {
  if (frame < first || frame >= end) {
    out.resize(out.size() + 3 * size_t{sound.height} + kBiasColumns, 0.0f);
    return;
  }
  for (size_t bin = 0; bin < sound.height; ++bin) {
    for (int64_t f = frame - 1; f <= frame + 1; ++f)
      out.push_back(
          f < first || f >= end ? 0.0f : sound.values[bin * sound.width + static_cast<size_t>(f)]);
  }
  out.push_back(1);
  out.resize(out.size() + kBiasColumns - 1, 0.0f);
}

Result<EncoderRows> sound_rows(const EncoderConfig& c, const EncoderTables& tables,
                               const EncoderInput& sound) {
  PUNA_TRY(const SoundRows n, count_sound(c, sound));
  if (c.sound.cells) return cell_rows(c, sound, sounding_frames(sound));
  EncoderRows out;
  out.n_rows = n.given;
  out.n_outputs = n.outputs;
  out.cells = {1, out.n_outputs};
  const bool chunks = c.sound.chunk_frames > 0;
  const uint32_t of_chunk = chunks ? c.sound.chunk_frames / 2 : n.given;  // rows
  // Chunks do not hear what is beyond them. Elsewhere silence behind a sound is heard at its end.
  const uint32_t frames = chunks ? sounding_frames(sound) : sound.width;
  for (int64_t beside = -1; beside <= 1; ++beside) {
    for (uint32_t row = 0; row < n.given; ++row) {
      const uint32_t first = chunks ? row / of_chunk * c.sound.chunk_frames : 0;
      const uint32_t end = chunks ? std::min(first + c.sound.chunk_frames, frames) : frames;
      unfold_frame(sound, 2 * int64_t{row} + beside, first, end, out.inputs);
    }
  }
  const std::vector<float>& positions = table(tables, kFramePositions);
  const size_t known = positions.size() / c.hidden;
  if (positions.size() % c.hidden != 0 || known < std::min(of_chunk, n.sounding)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A sound has {} frames, but the encoder knows positions of {}.",
                                  sound.width, 2 * known));
  }
  for (uint32_t row = 0; row < n.given; ++row) {
    // Rows behind the sound may be beyond the table; nothing sees them.
    const size_t at = std::min<size_t>(row % of_chunk, known - 1) * c.hidden;
    out.inputs.insert(out.inputs.end(), positions.begin() + static_cast<ptrdiff_t>(at),
                      positions.begin() + static_cast<ptrdiff_t>(at + c.hidden));
  }
  for (uint32_t row = 0; c.sound.sounding_only && row < n.given; ++row) {
    const uint32_t first = chunks ? row / of_chunk * of_chunk : 0;
    const uint32_t end = std::min(first + of_chunk, n.sounding);
    out.inputs.insert(out.inputs.end(), {word(first), word(end)});
  }
  if (c.sound.partly) {
    out.inputs.resize(out.inputs.size() + size_t{n.sounding} * c.hidden, 1.0f);
    out.inputs.resize(out.inputs.size() + size_t{n.given - n.sounding} * c.hidden, 0.0f);
  }
  for (uint32_t i = 0; i < out.n_outputs; ++i) out.places.push_back(i);
  return out;
}

}  // namespace

std::vector<std::string> encoder_tables(const EncoderConfig& c) {
  if (c.projector.sense == Sense::kSounds)
    return c.sound.cells ? std::vector<std::string>{} : std::vector<std::string>{kFramePositions};
  std::vector<std::string> out;
  if (c.rows.added != AddedRows::kNone) out.emplace_back(kPositions);
  if (c.rows.class_row) out.insert(out.end(), {kClass, kPatchBias});
  if (c.rows.breaks) out.emplace_back(kBreak);
  return out;
}

Result<Cells> count_cells(const EncoderConfig& c, const EncoderInput& input) {
  if (c.projector.sense == Sense::kSounds) {
    PUNA_TRY(const SoundRows n, count_sound(c, input));
    return Cells{1, n.outputs};
  }
  PUNA_TRY(const Grid grid, grid_of(c, input.height, input.width));
  return grid.cells;
}

Result<uint32_t> count_rows(const EncoderConfig& c, uint32_t height, uint32_t width) {
  if (c.projector.sense == Sense::kSounds) {
    PUNA_TRY(const SoundRows n, count_sound(c, {{}, height, width}));
    return n.given;
  }
  PUNA_TRY(const Grid grid, grid_of(c, height, width));
  return grid.rows * grid.columns + (c.rows.class_row ? 1 : 0);
}

Result<EncoderRows> encoder_rows(const EncoderConfig& c, const EncoderTables& tables,
                                 const EncoderInput& input) {
  return c.projector.sense == Sense::kSounds ? sound_rows(c, tables, input)
                                             : picture_rows(c, tables, input);
}

}  // namespace puna::models
