// Projector: what an mmproj file says of its encoder, a model of pictures or sounds whose rows
// stand in place of a text model's embeddings, and what is known of its kind beyond the file: what
// goes around the rows in a prompt and how the text model takes them. Read next: encoders.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"

namespace puna::models {

enum class Sense : uint8_t { kPictures, kSounds };

// Rows that one tile (of a picture) or window (of a sound) gives, as they stand in space: n rows of
// cells from left to right. Break rows (pixtral) are not counted as columns.
struct Cells {
  uint32_t rows = 0;
  uint32_t columns = 0;
};

// A picture as it was cut, or a sound by its windows.
struct MediaShape {
  std::vector<Cells> tiles;  // in the order in which they are encoded
  // Tiles that the picture is cut into, and whether the last of `tiles` is the whole of it beside
  // them. A picture that is not cut is one column and one row.
  uint32_t tile_columns = 1;
  uint32_t tile_rows = 1;
  bool whole_last = false;
};

// A piece of the prompt where a picture or sound stands: text of special tokens, or rows.
struct MediaPiece {
  std::string text;        // to be tokenized with its special tokens; empty: rows
  uint32_t first_row = 0;  // of all rows of the picture or sound
  uint32_t n_rows = 0;
  // The cells of these rows, n_rows = rows * columns, where the text model's positions go by them
  // (Projector::grid_positions); else 0.
  Cells cells = {};
};

struct Projector {
  std::string kind;  // clip.projector_type
  Sense sense = Sense::kPictures;
  uint32_t width = 0;  // of the text model; a row has width * (1 + n_deepstack) values
  // Rows that are added to the hidden state after text layers 0, 1 ... stand behind the row itself.
  uint32_t n_deepstack = 0;
  // Rows of one piece attend to each other in both directions, in layers with windows too.
  bool both_ways = false;
  // Positions of three coordinates: all rows of a piece have t = p, y = p + row, x = p + column;
  // what comes next has p + max(rows, columns).
  bool grid_positions = false;

  uint32_t row_width() const { return width * (1 + n_deepstack); }
};

// The pieces of a picture or sound, in their order; their rows are all that its tiles give (with
// pixtral's break rows), each once.
std::vector<MediaPiece> pieces(const Projector& projector, const MediaShape& shape);

// Reads the keys of an mmproj file for one sense. Errors: kNotFound or kCorrupt naming the key;
// kUnsupported naming the kind and those there are.
base::Result<Projector> read_projector(const formats::ModelFile& file, Sense sense);

// Errors: kInvalidArgument with both widths, where rows do not fit the text model.
base::Result<void> check_fits(const Projector& projector, const std::string& mmproj,
                              uint32_t hidden, const std::string& model);

}  // namespace puna::models
