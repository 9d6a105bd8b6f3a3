// A tokenizer.json carried out part by part ("pipeline" models), where none of the quicker models
// says the same: normalizer, pre-tokenizers, model, decoder. Source: Hugging Face's library.
#include "tokenizer/normalizer.h"
#include "tokenizer/pipeline/decode.h"
#include "tokenizer/pipeline/pre_tokenize.h"
#include "tokenizer/pipeline/word_model.h"
#include "tokenizer/tokenizers.h"

namespace puna::tokenizer {

namespace {

class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

  base::Result<void> init() {
    if (!vocabulary_.pipeline || vocabulary_.pipeline->in_model.size() != vocabulary_.tokens.size())
      return base::fail(base::ErrorCode::kCorrupt,
                        "The vocabulary of a pipeline model does not say which tokens it has.");
    PUNA_TRY(normalizer_, Normalizer::compile(vocabulary_.normalizer));
    PUNA_TRY(steps_, PreTokenizers::compile(vocabulary_.pipeline->steps));
    PUNA_TRY(decoders_, Decoders::compile(*vocabulary_.pipeline));
    PUNA_TRY(model_, make_word_model(vocabulary_));
    added_.emplace(vocabulary_, [&](std::string_view text, std::deque<std::string>& kept) {
      return normalizer_.apply(text, kept);
    });
    // As in the library, a token that is looked for in normalized text is shown as it stands there.
    shown_ = vocabulary_.tokens;
    for (const TokenRules& rules : vocabulary_.rules) {
      std::string& token = shown_[static_cast<size_t>(rules.id)];
      std::deque<std::string> kept;
      if (rules.normalized) token = std::string(normalizer_.apply(token, kept));
    }
    return {};
  }

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    std::deque<std::string> kept;
    std::unordered_map<std::string, std::vector<int32_t>> known;  // common words are cut once
    encode_framed(
        vocabulary_, *added_, text, options, kept, ids,
        [&](std::string_view part, auto& strings) { return normalizer_.apply(part, strings); },
        [&](std::string_view part, bool at_start) {
          for (const std::string& word : steps_.cut(part, at_start)) {
            const auto [it, is_new] = known.try_emplace(word);
            if (is_new) model_->encode(word, it->second);
            ids.insert(ids.end(), it->second.begin(), it->second.end());
          }
        });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override { return decode({id}, special); }

  std::string decode(const std::vector<int32_t>& ids, bool special) const override {
    std::vector<std::string> tokens;
    for (const int32_t id : ids) {
      if (id < 0 || id >= n_tokens() || type_of(vocabulary_, id) == TokenType::kUnused) continue;
      if (!special && is_special(type_of(vocabulary_, id))) continue;
      tokens.push_back(shown_[static_cast<size_t>(id)]);
    }
    return decoders_.decode(std::move(tokens));
  }

  bool decodes_in_context() const override { return true; }

 private:
  std::vector<std::string> shown_;  // by id
  Normalizer normalizer_;
  PreTokenizers steps_;
  Decoders decoders_;
  std::unique_ptr<WordModel> model_;
  std::optional<AddedTokens> added_;
};

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_pipeline(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<PipelineTokenizer>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
