#include "models/vision/pieces.h"

#include <fmt/format.h>

#include <utility>

namespace puna::models {
namespace {

class Pieces {
 public:
  Pieces& text(std::string text) {
    if (text.empty()) return *this;
    // Tokens between two runs of rows are tokenized together.
    if (!out_.empty() && !out_.back().text.empty()) {
      out_.back().text += text;
    } else {
      out_.push_back({std::move(text)});
    }
    return *this;
  }
  Pieces& rows(uint32_t n, Cells cells = {}) {
    out_.push_back({{}, first_, n, cells});
    first_ += n;
    return *this;
  }
  std::vector<MediaPiece> take() { return std::move(out_); }

 private:
  std::vector<MediaPiece> out_;
  uint32_t first_ = 0;
};

uint32_t count(const Cells& cells) { return cells.rows * cells.columns; }

uint32_t count(const MediaShape& shape) {
  uint32_t n = 0;
  for (const Cells& tile : shape.tiles) n += count(tile);
  return n;
}

std::vector<MediaPiece> between(const char* before, const MediaShape& shape, const char* after) {
  return Pieces().text(before).rows(count(shape)).text(after).take();
}

// One tile whose rows have positions by row and column.
std::vector<MediaPiece> on_grid(const char* before, const MediaShape& shape, const char* after) {
  const Cells& cells = shape.tiles.front();
  return Pieces().text(before).rows(count(cells), cells).text(after).take();
}

}  // namespace

std::vector<MediaPiece> gemma3_pieces(const MediaShape& shape) {
  return between("<start_of_image>", shape, "<end_of_image>");
}

std::vector<MediaPiece> gemma4_audio_pieces(const MediaShape& shape) {
  return between("<|audio>", shape, "<audio|>");
}

std::vector<MediaPiece> gemma4_pieces(const MediaShape& shape) {
  return between("<|image>", shape, "<image|>");
}

std::vector<MediaPiece> internvl_pieces(const MediaShape& shape) {
  return between("<img>", shape, "</img>");
}

std::vector<MediaPiece> llava_pieces(const MediaShape& shape) { return between("", shape, ""); }

std::vector<MediaPiece> qwen_audio_pieces(const MediaShape& shape) {
  return between("<|audio_bos|>", shape, "<|audio_eos|>");
}

std::vector<MediaPiece> ultravox_pieces(const MediaShape& shape) { return between("", shape, ""); }

std::vector<MediaPiece> voxtral_pieces(const MediaShape& shape) {
  return between("[BEGIN_AUDIO]", shape, "");
}

// Tiles by row and column, counted from 1, then the whole picture.
std::vector<MediaPiece> idefics3_pieces(const MediaShape& shape) {
  constexpr const char* kAround = "<fake_token_around_image>";
  const size_t n_cut = shape.tiles.size() - (shape.whole_last ? 1 : 0);
  Pieces out;
  for (uint32_t i = 0; shape.whole_last && i < n_cut; ++i) {
    const uint32_t row = i / shape.tile_columns, column = i % shape.tile_columns;
    if (column == 0 && row > 0) out.text("\n");
    out.text(fmt::format("{}<row_{}_col_{}>", kAround, row + 1, column + 1));
    out.rows(count(shape.tiles[i]));
  }
  if (shape.whole_last) out.text("\n\n");
  out.text(fmt::format("{}<global-img>", kAround)).rows(count(shape.tiles.back())).text(kAround);
  return out.take();
}

// A break row ends each line but the last, whose end is a token.
std::vector<MediaPiece> pixtral_pieces(const MediaShape& shape) {
  const Cells& cells = shape.tiles.front();
  return Pieces().rows(count(cells) + cells.rows - 1).text("[IMG_END]").take();
}

std::vector<MediaPiece> qwen_pieces(const MediaShape& shape) {
  return on_grid("<|vision_start|>", shape, "<|vision_end|>");
}

std::vector<MediaPiece> qwen_omni_pieces(const MediaShape& shape) {
  return on_grid("<|vision_bos|>", shape, "<|vision_eos|>");
}

}  // namespace puna::models
