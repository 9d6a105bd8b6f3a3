#include "service/media_prompt.h"

#include <utility>

namespace puna::service {
namespace {

// The rows of a piece, as media of their own.
std::shared_ptr<engine::Media> rows_of(const EncodedMedia& media, const models::MediaPiece& piece) {
  auto out = std::make_shared<engine::Media>();
  if (!media.rows.empty()) {
    const auto rows = std::span(media.rows)
                          .subspan(size_t{piece.first_row} * media.row_width,
                                   size_t{piece.n_rows} * media.row_width);
    out->rows.assign(rows.begin(), rows.end());
  }
  out->n_rows = piece.n_rows;
  out->grid_columns = piece.cells.columns;
  out->both_ways = media.both_ways;
  out->digest = media.digest;
  for (uint32_t i = 0; i < sizeof(piece.first_row); ++i)
    out->digest[i] ^= static_cast<std::byte>(piece.first_row >> 8 * i);
  return out;
}

class Writer {
 public:
  explicit Writer(const tokenizer::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void add(std::string_view text) { pending_ += text; }
  void add(const EncodedMedia& media) {
    for (const models::MediaPiece& piece : media.pieces) {
      add(piece.text);
      if (piece.n_rows == 0) continue;
      write_text();
      prompt_.add(rows_of(media, piece));
    }
  }
  engine::Prompt finish(bool ends) {
    write_text();
    const tokenizer::Vocabulary& v = tokenizer_.vocabulary();
    if (ends && v.add_eos && v.eos) prompt_.add(std::span(&*v.eos, 1));
    return std::move(prompt_);
  }

 private:
  // What stands between two pieces of rows becomes tokens together.
  void write_text() {
    std::vector<int32_t> ids;
    const std::string text = std::exchange(pending_, {});
    if (!text.empty()) ids = tokenizer_.encode(text, {.add_special = false});
    const tokenizer::Vocabulary& v = tokenizer_.vocabulary();
    const bool begins = prompt_.tokens().empty();
    if (begins && v.add_bos && v.bos && (ids.empty() || ids.front() != *v.bos))
      ids.insert(ids.begin(), *v.bos);
    prompt_.add(ids);
  }

  const tokenizer::Tokenizer& tokenizer_;
  engine::Prompt prompt_;
  std::string pending_;
};

}  // namespace

UnmarkedText take_marks(std::string_view text, std::string_view mark) {
  UnmarkedText out;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
    out.text += text.substr(0, at);
    out.places.push_back(out.text.size());
    text.remove_prefix(at + mark.size());
  }
  out.text += text;
  return out;
}

engine::Prompt media_prompt(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                            std::span<const PlacedMedia> media, bool ends) {
  Writer writer(tokenizer);
  size_t from = 0;
  for (const PlacedMedia& one : media) {
    writer.add(text.substr(from, one.at - from));
    writer.add(*one.media);
    from = one.at;
  }
  writer.add(text.substr(from));
  return writer.finish(ends);
}

}  // namespace puna::service
