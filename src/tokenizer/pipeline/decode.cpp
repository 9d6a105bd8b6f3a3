#include "tokenizer/pipeline/decode.h"

#include <algorithm>

#include "tokenizer/byte_map.h"
#include "tokenizer/space_marks.h"

namespace puna::tokenizer {

namespace {

using Kind = DecoderStep::Kind;
using Tokens = std::vector<std::string>;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t found = from.empty() ? std::string_view::npos : text.find(from, at);
    out.append(text.substr(at, found - at));
    if (found == std::string_view::npos) return out;
    out.append(to);
    at = found + from.size();
  }
}

// English without the spaces that words have around punctuation.
std::string cleaned(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = replaced(text, from, to);
  return text;
}

void fuse(Tokens& tokens) {
  std::string all;
  for (const std::string& token : tokens) all.append(token);
  tokens = {std::move(all)};
}

void byte_level(Tokens& tokens) {
  static const ByteMap kMap;
  std::string all, bytes;
  for (const std::string& token : tokens) all.append(kMap.decode(token, bytes) ? bytes : token);
  tokens = {std::move(all)};
}

void byte_fallback(Tokens& tokens) {
  Tokens out;
  bool after_byte = false;
  for (std::string& token : tokens) {
    const int byte = byte_of(token);
    if (byte >= 0) token = std::string(1, static_cast<char>(byte));
    if (byte >= 0 && after_byte) {
      out.back().append(token);
    } else {
      out.push_back(std::move(token));
    }
    after_byte = byte >= 0;
  }
  tokens = std::move(out);
}

void word_piece(const DecoderStep& what, Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && tokens[i].starts_with(what.from)) {
      tokens[i].erase(0, what.from.size());
    } else if (i > 0) {
      tokens[i].insert(0, 1, ' ');
    }
    if (what.clean_up) tokens[i] = cleaned(std::move(tokens[i]));
  }
}

void ctc(const DecoderStep& what, Tokens& tokens) {
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (std::string& token : tokens) {
    token = replaced(token, what.from, "");
    if (what.clean_up) token = replaced(cleaned(std::move(token)), what.to, " ");
  }
  std::erase(tokens, "");
}

void strip(const DecoderStep& what, std::string& token) {
  uint32_t n = 0;
  size_t begin = 0;
  for (; n < what.start && std::string_view(token).substr(begin).starts_with(what.from); ++n)
    begin += what.from.size();
  size_t end = token.size();
  for (n = 0; n < what.stop && std::string_view(token).substr(0, end).ends_with(what.from); ++n)
    end -= what.from.size();
  token = token.substr(begin, end > begin ? end - begin : 0);
}

}  // namespace

base::Result<Decoders> Decoders::compile(const Pipeline& pipeline) {
  Decoders out;
  out.joins_with_spaces_ = !pipeline.has_decoder;
  for (const DecoderStep& what : pipeline.decoder) {
    Step step{what, {}};
    if (what.kind == Kind::kReplace) {
      PUNA_TRY(auto pattern, Pattern::compile(what.from, what.expression));
      step.pattern.push_back(std::move(pattern));
    }
    out.steps_.push_back(std::move(step));
  }
  return out;
}

void Decoders::apply(const Step& step, Tokens& tokens) {
  const DecoderStep& what = step.what;
  switch (what.kind) {
    case Kind::kByteLevel:
      return byte_level(tokens);
    case Kind::kByteFallback:
      return byte_fallback(tokens);
    case Kind::kFuse:
      return fuse(tokens);
    case Kind::kMetaspace:
      for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = replaced(tokens[i], what.from, i == 0 && what.prefix ? "" : " ");
      return;
    case Kind::kWordPiece:
      return word_piece(what, tokens);
    case Kind::kBpe:
      for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = replaced(tokens[i], what.from, i + 1 == tokens.size() ? "" : " ");
      return;
    case Kind::kCtc:
      return ctc(what, tokens);
    case Kind::kStrip:
      for (std::string& token : tokens) strip(what, token);
      return;
    case Kind::kReplace:
      for (std::string& token : tokens) {
        std::string out;
        for (const MatchSpan& span : step.pattern[0].spans(token)) {
          if (span.match) {
            out.append(what.to);
          } else {
            out.append(token, span.begin, span.end - span.begin);
          }
        }
        token = std::move(out);
      }
      return;
  }
}

std::string Decoders::decode(Tokens tokens) const {
  for (const Step& step : steps_) apply(step, tokens);
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && joins_with_spaces_) out.push_back(' ');
    out.append(tokens[i]);
  }
  return out;
}

}  // namespace puna::tokenizer
