#include "formats/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>

#include "formats/hf_tokenizer.h"
#include "tokenizer/pipeline/pipeline.h"

namespace puna::formats {

namespace {

using base::ErrorCode;
using tokenizer::NormalizerStep;
using tokenizer::SpacePrefix;
using tokenizer::TokenType;
using tokenizer::Vocabulary;
using Metadata = std::vector<std::pair<std::string, Value>>;

// Tokens that end a turn in the models that have them, whatever the metadata says.
constexpr std::string_view kTurnEnds[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot|>",
    "<EOT>",
    "_<EOT>",
    "<turn|>",
    "<|return|>",
    "<|call|>",
    "<|end_of_turn|>",
    "<end_of_utterance>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
};

// Pre-tokenizers whose models begin with BOS although older files do not say so.
constexpr std::string_view kPreWithBos[] = {"llama3",  "llama-v3",  "llama-bpe",
                                            "falcon3", "falcon-h1", "pixtral",
                                            "tekken",  "lfm2",      "chameleon"};

constexpr std::string_view kHuggingFaceKey = "tokenizer.huggingface.json";

std::unexpected<base::Error> bad(std::string_view key, std::string_view problem) {
  return base::fail(ErrorCode::kCorrupt, fmt::format("The metadata key \"{}\" {}.", key, problem));
}

Value* find(Metadata& metadata, std::string_view key) {
  const auto it = std::find_if(metadata.begin(), metadata.end(),
                               [&](const auto& pair) { return pair.first == key; });
  return it == metadata.end() ? nullptr : &it->second;
}

// Moves the list under `key` into `out`; an absent key leaves it empty.
template <class Item>
base::Result<void> take_list(Metadata& metadata, std::string_view key, std::string_view items,
                             std::vector<Item>& out) {
  Value* value = find(metadata, key);
  if (!value) return {};
  auto* list = std::get_if<std::vector<Item>>(value);
  if (!list) return bad(key, fmt::format("is not a list of {}", items));
  out = std::move(*list);
  std::erase_if(metadata, [&](const auto& pair) { return pair.first == key; });
  return {};
}

base::Result<void> read_flag(Metadata& metadata, std::string_view key, bool& out) {
  const Value* value = find(metadata, key);
  if (!value) return {};
  const bool* flag = std::get_if<bool>(value);
  if (!flag) return bad(key, "is not a bool");
  out = *flag;
  return {};
}

base::Result<void> read_text(Metadata& metadata, std::string_view key, std::string& out) {
  const Value* value = find(metadata, key);
  if (!value) return {};
  const auto* text = std::get_if<std::string>(value);
  if (!text) return bad(key, "is not a string");
  out = *text;
  return {};
}

// Ids that a model never samples or encodes may lie outside the vocabulary in files in the wild:
// those count as absent.
enum class Outside { kRefuse, kIgnore };

base::Result<void> read_id(Metadata& metadata, std::string_view key, size_t n_tokens,
                           Outside outside, std::optional<int32_t>& out) {
  const Value* value = find(metadata, key);
  if (!value) return {};
  uint64_t id = 0;
  if (const auto* u = std::get_if<uint64_t>(value)) {
    id = *u;
  } else if (const auto* i = std::get_if<int64_t>(value)) {
    id = static_cast<uint64_t>(*i);  // negative: outside any vocabulary
  } else {
    return bad(key, "is not an integer");
  }
  if (id < n_tokens) {
    out = static_cast<int32_t>(id);
  } else if (outside == Outside::kRefuse) {
    return bad(key, fmt::format("is {}, outside the vocabulary of {} tokens", id, n_tokens));
  } else {
    out.reset();
  }
  return {};
}

base::Result<void> take_types(Metadata& metadata, Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  std::vector<int64_t> ids;
  PUNA_TRY(take_list(metadata, kKey, "signed integers", ids));
  vocabulary.types.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    // 0 stands for "undefined" and is written for plain tokens by some converters.
    if (ids[i] < 0 || ids[i] > int64_t{static_cast<uint8_t>(TokenType::kByte)}) {
      return bad(kKey, fmt::format("has the unknown token type {} at token {}", ids[i], i));
    }
    vocabulary.types.push_back(ids[i] == 0 ? TokenType::kNormal : static_cast<TokenType>(ids[i]));
  }
  return {};
}

base::Result<void> take_scores(Metadata& metadata, Vocabulary& vocabulary) {
  std::vector<double> scores;
  PUNA_TRY(take_list(metadata, "tokenizer.ggml.scores", "numbers", scores));
  vocabulary.scores.reserve(scores.size());
  for (const double score : scores) vocabulary.scores.push_back(static_cast<float>(score));
  return {};
}

base::Result<void> check_length(std::string_view key, size_t n, size_t n_tokens) {
  if (n == 0 || n == n_tokens) return {};
  return bad(key, fmt::format("has {} items for {} tokens", n, n_tokens));
}

// The steps that the keys of unigram and WordPiece models stand for.
base::Result<void> take_normalizer(Metadata& metadata, Vocabulary& vocabulary) {
  using Kind = NormalizerStep::Kind;
  auto& steps = vocabulary.normalizer;
  if (vocabulary.model == "bert") {
    bool lowercase = true, strip_accents = true;
    PUNA_TRY(read_flag(metadata, "tokenizer.ggml.normalizer.lowercase", lowercase));
    PUNA_TRY(read_flag(metadata, "tokenizer.ggml.normalizer.strip_accents", strip_accents));
    steps = {{Kind::kBertClean}, {Kind::kBertChinese}};
    if (strip_accents) steps.push_back({Kind::kBertAccents});
    if (lowercase) steps.push_back({Kind::kLowercase});
    return {};
  }
  if (const Value* value = find(metadata, "tokenizer.ggml.precompiled_charsmap")) {
    std::string map;
    const auto append = [&](const auto& bytes) {
      for (const auto byte : bytes) map.push_back(static_cast<char>(byte));
    };
    if (const auto* bytes = std::get_if<std::vector<uint64_t>>(value)) {
      append(*bytes);
    } else if (const auto* signed_bytes = std::get_if<std::vector<int64_t>>(value)) {
      append(*signed_bytes);
    } else {
      return bad("tokenizer.ggml.precompiled_charsmap", "is not a list of integers");
    }
    if (!map.empty()) steps.push_back({Kind::kCharsmap, std::move(map)});
  }
  bool collapse = false;
  PUNA_TRY(read_flag(metadata, "tokenizer.ggml.remove_extra_whitespaces", collapse));
  if (collapse && vocabulary.model != "gpt2") steps.push_back({Kind::kCollapseSpaces});
  return {};
}

void add_end(Vocabulary& vocabulary, std::optional<int32_t> id) {
  if (!id || std::find(vocabulary.end_tokens.begin(), vocabulary.end_tokens.end(), *id) !=
                 vocabulary.end_tokens.end())
    return;
  vocabulary.end_tokens.push_back(*id);
}

void find_turn_ends(Vocabulary& vocabulary) {
  std::optional<int32_t> end;
  bool returns = false;
  bool calls = false;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    if (token.size() < 5 || (token[0] != '<' && token[0] != '_')) continue;
    if (!vocabulary.types.empty() && vocabulary.types[id] == TokenType::kUnused) continue;
    if (std::find(std::begin(kTurnEnds), std::end(kTurnEnds), token) == std::end(kTurnEnds))
      continue;
    returns |= token == "<|return|>";
    calls |= token == "<|call|>";
    if (token == "<|end|>") {
      end = static_cast<int32_t>(id);
    } else {
      add_end(vocabulary, static_cast<int32_t>(id));
    }
  }
  // In the Harmony format (gpt-oss) <|end|> closes one message of several in a turn.
  if (!(returns && calls)) add_end(vocabulary, end);
}

// The file's own tokenizer.json says more than the other keys; the ids that these name stay.
base::Result<void> take_huggingface(Metadata& metadata, Vocabulary& vocabulary) {
  std::string json;
  PUNA_TRY(read_text(metadata, kHuggingFaceKey, json));
  if (json.empty()) return {};
  std::erase_if(metadata, [](const auto& pair) { return pair.first == kHuggingFaceKey; });
  HfTokenizerFiles files;
  files.tokenizer = json;
  PUNA_TRY_CONTEXT(HfTokenizer read, read_hf_tokenizer(files),
                   "While reading tokenizer.huggingface.json");
  if (read.vocabulary.tokens.size() > vocabulary.tokens.size())
    return bad(kHuggingFaceKey,
               fmt::format("has {} tokens where the file lists {}", read.vocabulary.tokens.size(),
                           vocabulary.tokens.size()));
  Vocabulary& from = read.vocabulary;
  vocabulary.model = std::move(from.model);
  vocabulary.pre = std::move(from.pre);
  vocabulary.normalizer = std::move(from.normalizer);
  vocabulary.rules = std::move(from.rules);
  vocabulary.splits = std::move(from.splits);
  vocabulary.whole_words = from.whole_words;
  vocabulary.word_split = from.word_split;
  vocabulary.space_prefix = from.space_prefix;
  vocabulary.before = std::move(from.before);
  vocabulary.after = std::move(from.after);
  if (from.pipeline) {
    // Its merges are in the pipeline; an id that only the keys know is no token of its model.
    vocabulary.merges.clear();
    auto pipeline = std::make_shared<tokenizer::Pipeline>(*from.pipeline);
    pipeline->in_model.resize(vocabulary.tokens.size());
    vocabulary.pipeline = std::move(pipeline);
    vocabulary.scores = std::move(from.scores);
    if (!vocabulary.scores.empty()) vocabulary.scores.resize(vocabulary.tokens.size());
  }
  vocabulary.huggingface_json = std::move(json);
  return {};
}

}  // namespace

base::Result<Vocabulary> take_vocabulary(Metadata& metadata) {
  Vocabulary vocabulary;
  if (!find(metadata, "tokenizer.ggml.model")) return vocabulary;
  PUNA_TRY(read_text(metadata, "tokenizer.ggml.model", vocabulary.model));
  PUNA_TRY(read_text(metadata, "tokenizer.ggml.pre", vocabulary.pre));

  PUNA_TRY(take_list(metadata, "tokenizer.ggml.tokens", "strings", vocabulary.tokens));
  PUNA_TRY(take_list(metadata, "tokenizer.ggml.merges", "strings", vocabulary.merges));
  PUNA_TRY(take_scores(metadata, vocabulary));
  PUNA_TRY(take_types(metadata, vocabulary));
  const size_t n = vocabulary.tokens.size();
  PUNA_TRY(check_length("tokenizer.ggml.scores", vocabulary.scores.size(), n));
  PUNA_TRY(check_length("tokenizer.ggml.token_type", vocabulary.types.size(), n));

  // What a file leaves out, as the converters meant it: the ids of the libraries the models come
  // from; nothing for byte-level BPE.
  const bool sentencepiece = vocabulary.model == "llama";
  const bool unigram = vocabulary.model == "t5";
  const bool word_piece = vocabulary.model == "bert";
  const auto given = [&](int32_t id) {
    return static_cast<size_t>(id) < n ? std::optional(id) : std::nullopt;
  };
  if (sentencepiece && n > 2) {
    vocabulary.unk = 0;
    vocabulary.bos = 1;
    vocabulary.eos = 2;
  } else if (unigram) {
    vocabulary.pad = given(0);
    vocabulary.eos = given(1);
    vocabulary.unk = given(2);
  } else if (word_piece) {
    vocabulary.pad = given(0);
    vocabulary.unk = given(100);
    vocabulary.bos = given(101);
    vocabulary.eos = given(102);
  }
  vocabulary.add_bos = sentencepiece || word_piece ||
                       std::find(std::begin(kPreWithBos), std::end(kPreWithBos), vocabulary.pre) !=
                           std::end(kPreWithBos);
  vocabulary.add_eos = unigram || word_piece;

  std::optional<int32_t> eom;
  PUNA_TRY(read_id(metadata, "tokenizer.ggml.bos_token_id", n, Outside::kRefuse, vocabulary.bos));
  PUNA_TRY(read_id(metadata, "tokenizer.ggml.eos_token_id", n, Outside::kRefuse, vocabulary.eos));
  PUNA_TRY(read_id(metadata, "tokenizer.ggml.eot_token_id", n, Outside::kRefuse, vocabulary.eot));
  PUNA_TRY(read_id(metadata, "tokenizer.ggml.eom_token_id", n, Outside::kRefuse, eom));
  PUNA_TRY(
      read_id(metadata, "tokenizer.ggml.unknown_token_id", n, Outside::kIgnore, vocabulary.unk));
  PUNA_TRY(
      read_id(metadata, "tokenizer.ggml.padding_token_id", n, Outside::kIgnore, vocabulary.pad));
  PUNA_TRY(read_flag(metadata, "tokenizer.ggml.add_bos_token", vocabulary.add_bos));
  PUNA_TRY(read_flag(metadata, "tokenizer.ggml.add_eos_token", vocabulary.add_eos));
  if (word_piece) {  // the frame of BERT: [CLS] text [SEP]
    PUNA_TRY(read_id(metadata, "tokenizer.ggml.cls_token_id", n, Outside::kRefuse, vocabulary.bos));
    PUNA_TRY(read_id(metadata, "tokenizer.ggml.seperator_token_id", n, Outside::kRefuse,
                     vocabulary.eos));
  }
  bool space_prefix = sentencepiece || unigram || word_piece;
  PUNA_TRY(read_flag(metadata, "tokenizer.ggml.add_space_prefix", space_prefix));
  vocabulary.space_prefix = space_prefix ? SpacePrefix::kAlways : SpacePrefix::kNever;
  PUNA_TRY(take_normalizer(metadata, vocabulary));

  const std::vector<int32_t> more = eom ? std::vector{*eom} : std::vector<int32_t>();
  find_end_tokens(more, vocabulary);
  PUNA_TRY(take_huggingface(metadata, vocabulary));
  return vocabulary;
}

void find_end_tokens(std::span<const int32_t> more, Vocabulary& vocabulary) {
  add_end(vocabulary, vocabulary.eos);
  add_end(vocabulary, vocabulary.eot);
  for (const int32_t id : more) add_end(vocabulary, id);
  find_turn_ends(vocabulary);
}

bool gguf_says_all(const Vocabulary& vocabulary) {
  Metadata metadata;
  put_vocabulary(vocabulary, {}, metadata);
  std::erase_if(metadata, [](const auto& pair) { return pair.first == kHuggingFaceKey; });
  metadata.emplace_back("tokenizer.ggml.tokens",
                        std::vector<std::string>(vocabulary.tokens.size()));
  const auto back = take_vocabulary(metadata);
  const auto small = [](const Vocabulary& v) {
    return std::tie(v.model, v.pre, v.bos, v.eos, v.eot, v.unk, v.pad, v.add_bos, v.add_eos,
                    v.space_prefix, v.normalizer, v.rules, v.splits, v.whole_words, v.word_split,
                    v.before, v.after, v.pipeline);
  };
  return back && small(*back) == small(vocabulary);
}

namespace {

void put_normalizer(const Vocabulary& vocabulary, Metadata& metadata) {
  const auto has = [&](NormalizerStep::Kind kind) {
    return std::any_of(vocabulary.normalizer.begin(), vocabulary.normalizer.end(),
                       [&](const NormalizerStep& step) { return step.kind == kind; });
  };
  const auto put = [&](std::string_view key, Value value) {
    metadata.emplace_back(fmt::format("tokenizer.ggml.{}", key), std::move(value));
  };
  if (vocabulary.model == "bert") {
    put("normalizer.lowercase", has(NormalizerStep::Kind::kLowercase));
    put("normalizer.strip_accents", has(NormalizerStep::Kind::kBertAccents));
  }
  if (vocabulary.model != "t5") return;
  put("remove_extra_whitespaces", has(NormalizerStep::Kind::kCollapseSpaces) ||
                                      vocabulary.word_split == tokenizer::WordSplit::kWhiteSpace);
  for (const NormalizerStep& step : vocabulary.normalizer) {
    if (step.kind != NormalizerStep::Kind::kCharsmap) continue;
    std::vector<uint64_t> bytes;
    for (const char c : step.from) bytes.push_back(static_cast<unsigned char>(c));
    put("precompiled_charsmap", std::move(bytes));
  }
}

}  // namespace

void put_vocabulary(const Vocabulary& vocabulary, std::string_view chat_template,
                    Metadata& metadata) {
  if (vocabulary.model.empty()) return;
  const auto put = [&](std::string_view key, Value value) {
    metadata.emplace_back(fmt::format("tokenizer.ggml.{}", key), std::move(value));
  };
  const auto put_id = [&](std::string_view key, std::optional<int32_t> id) {
    if (id) put(key, static_cast<uint64_t>(*id));
  };
  put("model", vocabulary.model);
  if (!vocabulary.pre.empty()) put("pre", vocabulary.pre);
  put_id("bos_token_id", vocabulary.bos);
  put_id("eos_token_id", vocabulary.eos);
  put_id("eot_token_id", vocabulary.eot);
  put_id("unknown_token_id", vocabulary.unk);
  put_id("padding_token_id", vocabulary.pad);
  if (vocabulary.model == "bert") {
    put_id("cls_token_id", vocabulary.bos);
    put_id("seperator_token_id", vocabulary.eos);  // as the specification spells it
  }
  put("add_bos_token", vocabulary.add_bos);
  put("add_eos_token", vocabulary.add_eos);
  put("add_space_prefix", vocabulary.space_prefix != SpacePrefix::kNever);
  put_normalizer(vocabulary, metadata);
  if (!vocabulary.huggingface_json.empty())
    metadata.emplace_back(kHuggingFaceKey, vocabulary.huggingface_json);
  if (!chat_template.empty())
    metadata.emplace_back("tokenizer.chat_template", std::string(chat_template));
}

}  // namespace puna::formats
