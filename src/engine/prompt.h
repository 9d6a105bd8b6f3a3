// Prompt: what a text begins with, tokens and spans of media. A span is the rows that an encoder
// made of an image or a sound, which stand in place of embeddings. In the list of tokens its places
// hold ids below zero, made of its content, so that the tree of prefixes (prefixes.h) knows one
// picture from another by the same comparison as words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/step.h"

namespace puna::engine {

struct Media {
  // [n_rows, width()]: what the layers read in place of an embedding and, of some models, what is
  // added behind the first layers.
  std::vector<float> rows;
  uint32_t n_rows = 0;                 // above 0
  std::array<std::byte, 32> digest{};  // SHA-256 of all that the rows depend on
  // Of rows that stand for cells of a grid, row by row, the grid's columns, by which n_rows can be
  // divided: models whose positions have three coordinates go by it. 0: they follow each other as
  // words do.
  uint32_t grid_columns = 0;
  bool both_ways = false;  // each row attends to all of them, also to those behind it
  uint32_t width() const { return static_cast<uint32_t>(rows.size() / n_rows); }
};

// What media a model takes.
struct MediaKinds {
  uint32_t width = 0;      // of a row; 0: none
  bool grids = false;      // positions have three coordinates
  bool both_ways = false;  // rows may attend to each other
  // Where they do, they see earlier rows no further than a window that is there shows them.
  bool windowed = false;
};

class Prompt {
 public:
  struct Span {
    size_t first = 0;  // of its places
    std::shared_ptr<const Media> media;
    // Added to the places behind it: their positions, in all coordinates. A grid takes as many
    // positions as its longer side has cells.
    int32_t turn = 0;
    size_t end() const { return first + media->n_rows; }
  };

  Prompt() = default;
  Prompt(std::vector<int32_t> tokens) : tokens_(std::move(tokens)) {}  // NOLINT: it is one

  void add(std::span<const int32_t> tokens);
  void add(std::shared_ptr<const Media> media);

  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::vector<int32_t> tokens_;
  std::vector<Span> spans_;  // in their order
};

// The span that a place lies in; null for a token.
const Prompt::Span* span_at(std::span<const Prompt::Span> spans, size_t place);

// A step may not end, nor a text begin, between rows that attend to each other. The nearest place
// at or before `place` where one may.
size_t whole_begin(std::span<const Prompt::Span> spans, size_t place);
// Where a step that begins at `from` and should end at `end` ends: there, or before the rows that
// this would part, or where it begins with them, behind them.
size_t whole_end(std::span<const Prompt::Span> spans, size_t from, size_t end);

// Adds tokens of a sequence to a step, the first at place `first` of a text with these spans;
// `windowed`: as of MediaKinds.
void add_rows(plan::Step& step, uint32_t sequence, std::span<const int32_t> tokens, size_t first,
              std::span<const Prompt::Span> spans, bool windowed);

}  // namespace puna::engine
