#include "formats/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "base/log.h"
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
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kEndsKey = "tokenizer.ggml.eos_token_ids";  // as ollama writes it
// What a vocabulary takes out of the metadata.
constexpr std::string_view kTaken[] = {kTokensKey, kMergesKey, "tokenizer.ggml.scores",
                                       "tokenizer.ggml.token_type", kHuggingFaceKey};

std::unexpected<base::Error> bad(std::string_view key, std::string_view problem) {
  return base::fail(ErrorCode::kCorrupt, fmt::format("The metadata key \"{}\" {}.", key, problem));
}

Value* find(Metadata& metadata, std::string_view key) {
  const auto it = std::find_if(metadata.begin(), metadata.end(),
                               [&](const auto& pair) { return pair.first == key; });
  return it == metadata.end() ? nullptr : &it->second;
}

// The keys of a vocabulary as they are read. What no text depends on is passed over where it is
// wrong, and all of that said in one line at the end.
class Keys {
 public:
  explicit Keys(Metadata& metadata) : metadata_(metadata) {}

  bool has(std::string_view key) const { return find(metadata_, key) != nullptr; }
  const Value* value(std::string_view key) const { return find(metadata_, key); }

  base::Result<void> text(std::string_view key, std::string& out) const {
    const Value* found = value(key);
    if (!found) return {};
    PUNA_TRY(out, as_string(key, *found));
    return {};
  }

  // Moves the list under `key` into `out`; an absent key leaves it empty.
  base::Result<void> take_texts(std::string_view key, std::vector<std::string>& out) {
    Value* found = find(metadata_, key);
    if (!found) return {};
    auto* list = std::get_if<std::vector<std::string>>(found);
    if (!list) return bad(key, fmt::format("is {}, not a list of strings", describe(*found)));
    out = std::move(*list);
    return {};
  }

  void flag(std::string_view key, bool& out) {
    const Value* found = value(key);
    if (!found) return;
    if (const auto flag = as_bool(key, *found)) {
      out = *flag;
    } else {
      pass_over(flag.error().message);
    }
  }

  // The ids under `key`, which may list several, that lie in the vocabulary; nothing without the
  // key.
  std::optional<std::vector<int32_t>> ids(std::string_view key, size_t n_tokens) {
    const Value* found = value(key);
    if (!found) return std::nullopt;
    const bool all_ones = as_uint(key, *found).value_or(0) == UINT64_MAX;
    const base::Result<std::vector<int64_t>> given =
        all_ones ? std::vector<int64_t>{-1} : as_ints(key, *found);
    if (!given) {
      pass_over(given.error().message);
      return std::nullopt;
    }
    std::vector<int32_t> inside;
    size_t n_outside = 0;
    int64_t first_outside = 0;
    for (const int64_t id : *given) {
      const TokenId token = token_id(id, n_tokens);
      if (token.id) inside.push_back(*token.id);
      if (token.outside && n_outside++ == 0) first_outside = id;
    }
    if (n_outside == 0) return inside;
    pass_over(fmt::format("The metadata key \"{}\" is {}, outside the vocabulary of {} tokens{}.",
                          key, first_outside, n_tokens, of_ids(n_outside)));
    // As if the key were not there, so that what is usual for the model holds.
    if (inside.empty()) return std::nullopt;
    return inside;
  }

  void id(std::string_view key, size_t n_tokens, std::optional<int32_t>& out) {
    const auto found = ids(key, n_tokens);
    if (found) out = found->empty() ? std::nullopt : std::optional(found->front());
  }

  void pass_over(std::string_view fault) { faults_ += fmt::format(" {}", fault); }
  void warn() const {
    if (!faults_.empty())
      base::log_warning("Some of what the file says of its vocabulary is passed over:{}", faults_);
  }

 private:
  Metadata& metadata_;
  std::string faults_;
};

base::Result<void> take_types(Keys& keys, Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const Value* value = keys.value(kKey);
  if (!value) return {};
  PUNA_TRY(const std::vector<int64_t> types, as_ints(kKey, *value));
  vocabulary.types.reserve(types.size());
  bool unknown = false;
  for (size_t i = 0; i < types.size(); ++i) {
    // 0 stands for "undefined" and is written for plain tokens by some converters.
    const bool known = types[i] >= 0 && types[i] <= int64_t{static_cast<uint8_t>(TokenType::kByte)};
    vocabulary.types.push_back(!known || types[i] == 0 ? TokenType::kNormal
                                                       : static_cast<TokenType>(types[i]));
    if (!known && !unknown) {
      keys.pass_over(
          fmt::format("The metadata key \"{}\" has the unknown token type {} at token "
                      "{}; such tokens count as normal ones.",
                      kKey, types[i], i));
    }
    unknown |= !known;
  }
  return {};
}

base::Result<void> take_scores(const Keys& keys, Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  const Value* value = keys.value(kKey);
  if (!value) return {};
  PUNA_TRY(const std::vector<double> scores, as_floats(kKey, *value));
  vocabulary.scores.reserve(scores.size());
  for (const double score : scores) vocabulary.scores.push_back(static_cast<float>(score));
  return {};
}

base::Result<void> check_length(std::string_view key, size_t n, size_t n_tokens) {
  if (n == 0 || n == n_tokens) return {};
  return bad(key, fmt::format("has {} items for {} tokens", n, n_tokens));
}

// The steps that the keys of unigram and WordPiece models stand for.
base::Result<void> take_normalizer(Keys& keys, Vocabulary& vocabulary) {
  using Kind = NormalizerStep::Kind;
  constexpr std::string_view kCharsmap = "tokenizer.ggml.precompiled_charsmap";
  auto& steps = vocabulary.normalizer;
  if (vocabulary.model == "bert") {
    bool lowercase = true, strip_accents = true;
    keys.flag("tokenizer.ggml.normalizer.lowercase", lowercase);
    keys.flag("tokenizer.ggml.normalizer.strip_accents", strip_accents);
    steps = {{Kind::kBertClean}, {Kind::kBertChinese}};
    if (strip_accents) steps.push_back({Kind::kBertAccents});
    if (lowercase) steps.push_back({Kind::kLowercase});
    return {};
  }
  if (const Value* value = keys.value(kCharsmap)) {
    PUNA_TRY(const std::vector<int64_t> bytes, as_ints(kCharsmap, *value));
    std::string map;
    map.reserve(bytes.size());
    for (const int64_t byte : bytes) map.push_back(static_cast<char>(byte));
    if (!map.empty()) steps.push_back({Kind::kCharsmap, std::move(map)});
  }
  bool collapse = false;
  keys.flag("tokenizer.ggml.remove_extra_whitespaces", collapse);
  if (collapse && vocabulary.model != "gpt2") steps.push_back({Kind::kCollapseSpaces});
  return {};
}

// Ids in the order in which they come, each once.
class Ends {
 public:
  void add(std::optional<int32_t> id) {
    if (id && known_.insert(*id).second) ids_.push_back(*id);
  }
  std::vector<int32_t> take() { return std::move(ids_); }

 private:
  std::vector<int32_t> ids_;
  std::unordered_set<int32_t> known_;
};

void add_turn_ends(const Vocabulary& vocabulary, Ends& ends) {
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
      ends.add(static_cast<int32_t>(id));
    }
  }
  // In the Harmony format (gpt-oss) <|end|> closes one message of several in a turn.
  if (!(returns && calls)) ends.add(end);
}

std::vector<int32_t> ends_of(std::span<const int32_t> more, const Vocabulary& vocabulary) {
  Ends ends;
  ends.add(vocabulary.eos);
  ends.add(vocabulary.eot);
  for (const int32_t id : more) ends.add(id);
  add_turn_ends(vocabulary, ends);
  return ends.take();
}

// The file's own tokenizer.json says more than the other keys; the ids that these name stay.
base::Result<void> take_huggingface(const Keys& keys, Vocabulary& vocabulary) {
  std::string json;
  PUNA_TRY(keys.text(kHuggingFaceKey, json));
  if (json.empty()) return {};
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

// The lists by id. Scores decide nothing in byte-level BPE and WordPiece, whose files have them
// all the same.
base::Result<void> take_tokens(Keys& keys, Vocabulary& vocabulary) {
  PUNA_TRY(keys.take_texts(kTokensKey, vocabulary.tokens));
  PUNA_TRY(keys.take_texts(kMergesKey, vocabulary.merges));
  PUNA_TRY(take_types(keys, vocabulary));
  const size_t n = vocabulary.tokens.size();
  PUNA_TRY(check_length("tokenizer.ggml.token_type", vocabulary.types.size(), n));
  auto scores = take_scores(keys, vocabulary);
  if (scores) scores = check_length("tokenizer.ggml.scores", vocabulary.scores.size(), n);
  if (scores) return {};
  if (vocabulary.model == "llama" || vocabulary.model == "t5") return scores;
  vocabulary.scores.clear();
  keys.pass_over(scores.error().message);
  return {};
}

// What a file leaves out, as the converters meant it: the ids of the libraries the models come
// from; nothing for byte-level BPE.
void put_usual_tokens(Vocabulary& vocabulary) {
  const size_t n = vocabulary.tokens.size();
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
  vocabulary.space_prefix =
      sentencepiece || unigram || word_piece ? SpacePrefix::kAlways : SpacePrefix::kNever;
}

void read_special_tokens(Keys& keys, Vocabulary& vocabulary) {
  const size_t n = vocabulary.tokens.size();
  std::vector<int32_t> more;
  const auto ends = [&](std::string_view key) {
    const auto ids = keys.ids(key, n);
    if (ids) more.insert(more.end(), ids->begin(), ids->end());
  };
  keys.id("tokenizer.ggml.bos_token_id", n, vocabulary.bos);
  const auto eos = keys.ids("tokenizer.ggml.eos_token_id", n);
  if (eos) vocabulary.eos = eos->empty() ? std::nullopt : std::optional(eos->front());
  if (eos) more = *eos;
  keys.id("tokenizer.ggml.eot_token_id", n, vocabulary.eot);
  ends("tokenizer.ggml.eom_token_id");
  ends(kEndsKey);
  keys.id("tokenizer.ggml.unknown_token_id", n, vocabulary.unk);
  keys.id("tokenizer.ggml.padding_token_id", n, vocabulary.pad);
  keys.flag("tokenizer.ggml.add_bos_token", vocabulary.add_bos);
  keys.flag("tokenizer.ggml.add_eos_token", vocabulary.add_eos);
  if (vocabulary.model == "bert") {  // the frame of BERT: [CLS] text [SEP]
    keys.id("tokenizer.ggml.cls_token_id", n, vocabulary.bos);
    keys.id("tokenizer.ggml.seperator_token_id", n, vocabulary.eos);
  }
  bool space_prefix = vocabulary.space_prefix != SpacePrefix::kNever;
  keys.flag("tokenizer.ggml.add_space_prefix", space_prefix);
  vocabulary.space_prefix = space_prefix ? SpacePrefix::kAlways : SpacePrefix::kNever;
  vocabulary.end_tokens = ends_of(more, vocabulary);
}

base::Result<void> read_vocabulary(Metadata& metadata, Vocabulary& vocabulary) {
  Keys keys(metadata);
  PUNA_TRY(keys.text("tokenizer.ggml.model", vocabulary.model));
  PUNA_TRY(keys.text("tokenizer.ggml.pre", vocabulary.pre));
  PUNA_TRY(take_tokens(keys, vocabulary));
  put_usual_tokens(vocabulary);
  read_special_tokens(keys, vocabulary);
  PUNA_TRY(take_normalizer(keys, vocabulary));
  PUNA_TRY(take_huggingface(keys, vocabulary));
  keys.warn();
  return {};
}

}  // namespace

TokenId token_id(int64_t id, size_t n_tokens) {
  if (id == -1 || id == UINT32_MAX) return {};
  if (id >= 0 && static_cast<uint64_t>(id) < n_tokens) return {static_cast<int32_t>(id), false};
  return {std::nullopt, /*outside=*/true};
}

std::string of_ids(size_t n) { return n == 1 ? "" : fmt::format(" (the first of {} such ids)", n); }

base::Result<Vocabulary> take_vocabulary(Metadata& metadata) {
  Vocabulary vocabulary;
  if (!find(metadata, "tokenizer.ggml.model")) return vocabulary;
  const auto read = read_vocabulary(metadata, vocabulary);
  if (read) {
    std::erase_if(metadata, [](const auto& pair) {
      return std::find(std::begin(kTaken), std::end(kTaken), pair.first) != std::end(kTaken);
    });
    return vocabulary;
  }
  // Everything stays as it was.
  if (!vocabulary.tokens.empty()) *find(metadata, kTokensKey) = std::move(vocabulary.tokens);
  if (!vocabulary.merges.empty()) *find(metadata, kMergesKey) = std::move(vocabulary.merges);
  return std::unexpected(read.error());
}

void find_end_tokens(std::span<const int32_t> more, Vocabulary& vocabulary) {
  vocabulary.end_tokens = ends_of(more, vocabulary);
}

void fit_vocabulary(ModelFile& file) {
  Vocabulary& vocabulary = file.vocabulary;
  const Tensor* table = file.find_tensor("token_embd.weight");
  if (!table || table->bytes == 0 || vocabulary.tokens.empty()) return;
  if (vocabulary.tokens.size() >= table->rows()) return;
  if (table->rows() - vocabulary.tokens.size() > kMostHoles) {
    return drop_vocabulary(
        file,
        {ErrorCode::kCorrupt,
         fmt::format("The tensor \"{}\" has {} rows for {} tokens; at most {} may be without one.",
                     table->name, table->rows(), vocabulary.tokens.size(), kMostHoles),
         {}});
  }
  if (vocabulary.types.empty())
    vocabulary.types.assign(vocabulary.tokens.size(), TokenType::kNormal);
  while (vocabulary.tokens.size() < table->rows()) {
    vocabulary.tokens.push_back(fmt::format("[PAD{}]", vocabulary.tokens.size()));
    vocabulary.types.push_back(TokenType::kUnused);
    if (!vocabulary.scores.empty()) vocabulary.scores.push_back(-10000.0f);
  }
}

void drop_vocabulary(ModelFile& file, base::Error why) {
  base::log_warning("{} can be used with token ids only, not with texts: {}", file.name,
                    why.text());
  file.vocabulary = {};
  file.vocabulary_error = std::move(why);
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
  const std::vector<int32_t> usual = ends_of({}, vocabulary);
  const std::unordered_set<int32_t> known(usual.begin(), usual.end());
  const std::vector<int32_t>& ends = vocabulary.end_tokens;
  if (!std::ranges::all_of(ends, [&](int32_t id) { return known.contains(id); }))
    metadata.emplace_back(kEndsKey, std::vector<int64_t>(ends.begin(), ends.end()));
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
