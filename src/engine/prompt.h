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

namespace puna::engine {

struct Media {
  std::vector<float> rows;             // [n_rows, hidden], as the layers read them
  uint32_t n_rows = 0;                 // above 0
  std::array<std::byte, 32> digest{};  // SHA-256 of all that the rows depend on
  uint32_t hidden() const { return static_cast<uint32_t>(rows.size() / n_rows); }
};

class Prompt {
 public:
  struct Span {
    size_t first = 0;  // of its places
    std::shared_ptr<const Media> media;
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

}  // namespace puna::engine
