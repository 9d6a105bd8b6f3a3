#include "tokenizer/pipeline/word_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::tokenizer {

WordVocabulary::WordVocabulary(const Vocabulary& vocabulary) {
  const auto& in_model = vocabulary.pipeline->in_model;
  ids_.reserve(in_model.size());
  for (size_t id = 0; id < in_model.size(); ++id) {
    // Of equal tokens the last one counts.
    if (in_model[id]) ids_[vocabulary.tokens[id]] = static_cast<int32_t>(id);
  }
  for (int byte = 0; byte < 256; ++byte) bytes_[byte] = find(fmt::format("<0x{:02X}>", byte));
}

bool WordVocabulary::append_bytes(std::string_view text, std::vector<int32_t>& ids) const {
  const auto id_of = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
  if (std::any_of(text.begin(), text.end(), [&](char c) { return id_of(c) < 0; })) return false;
  for (const char c : text) ids.push_back(id_of(c));
  return true;
}

base::Result<std::unique_ptr<WordModel>> make_word_model(const Vocabulary& vocabulary) {
  switch (vocabulary.pipeline->model) {
    case Pipeline::Model::kBpe:
      return make_bpe_model(vocabulary);
    case Pipeline::Model::kUnigram:
      return make_unigram_model(vocabulary);
    case Pipeline::Model::kWordPiece:
      return make_word_piece_model(vocabulary);
    case Pipeline::Model::kWordLevel:
      return make_word_level_model(vocabulary);
  }
  return base::fail(base::ErrorCode::kInternal, "The pipeline has a model of no kind.");
}

}  // namespace puna::tokenizer
