// tokenizer.json from hostile bytes: no crash, and what is read makes a tokenizer or is refused;
// its ids stay inside the vocabulary and go through GGUF's keys unchanged. Input: the file, then,
// after the last newline, a text.
#include "formats/hf_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "formats/gguf_vocabulary.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.rfind('\n');
  const std::string_view text =
      end == std::string_view::npos ? std::string_view("a b") : input.substr(end + 1);
  formats::HfTokenizerFiles files;
  files.tokenizer = input.substr(0, end);
  auto read = formats::read_hf_tokenizer(files);
  if (!read) {
    PUNA_CHECK(!read.error().message.empty());
    return 0;
  }
  const auto n = static_cast<int32_t>(read->vocabulary.tokens.size());
  for (const int32_t id : read->vocabulary.end_tokens) PUNA_CHECK(id >= 0 && id < n);
  std::vector<std::pair<std::string, formats::Value>> metadata;
  formats::put_vocabulary(read->vocabulary, read->chat_template, metadata);
  const auto made = tokenizer::Tokenizer::create(std::move(read->vocabulary));
  if (!made) return 0;
  const auto ids = (*made)->encode(text);
  for (const int32_t id : ids) PUNA_CHECK(id >= 0 && id < n);
  tokenizer::StreamDecoder stream(**made, /*special=*/true);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.push(id);
  streamed += stream.finish();
  PUNA_CHECK(streamed == (*made)->decode(ids, /*special=*/true));
  return 0;
}
