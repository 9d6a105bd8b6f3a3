// For tools/compare_pipelines.py: reads lines of JSON from standard input and writes one line for
// each. {"tokenizer": {...}} sets the tokenizer.json in use and gives {"model": "gpt2"} or
// {"error": "..."}; {"text": "..."} gives {"ids": [...], "framed": [...], "decoded": "...",
// "streamed": "..."}.
#include <fmt/format.h>

#include <iostream>
#include <string>

#include "base/json.h"
#include "base/log.h"
#include "formats/hf_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace {

using puna::base::Json;
using puna::tokenizer::StreamDecoder;
using puna::tokenizer::Tokenizer;

puna::base::Result<std::unique_ptr<Tokenizer>> open(const std::string& json) {
  puna::formats::HfTokenizerFiles files;
  files.tokenizer = json;
  PUNA_TRY(auto read, puna::formats::read_hf_tokenizer(files));
  return Tokenizer::create(std::move(read.vocabulary));
}

Json list_of(const std::vector<int32_t>& ids) {
  Json out = Json::array();
  for (const int32_t id : ids) out.push(id);
  return out;
}

Json encoded(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = true});
  StreamDecoder stream(tokenizer, /*special=*/true);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.push(id);
  streamed += stream.finish();
  Json out = Json::object();
  out.set("ids", list_of(ids)).set("framed", list_of(tokenizer.encode(text)));
  out.set("decoded", tokenizer.decode(ids, /*special=*/true)).set("streamed", std::move(streamed));
  return out;
}

}  // namespace

int main() {
  puna::base::set_log_sink([](puna::base::LogLevel, std::string_view) {},
                           puna::base::LogLevel::kWarning);
  std::unique_ptr<Tokenizer> tokenizer;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = Json::parse(line);
    Json answer = Json::object();
    if (!request) {
      answer.set("error", request.error().text());
    } else if (const Json* json = request->find("tokenizer")) {
      auto opened = open(json->dump());
      if (!opened) answer.set("error", opened.error().text());
      tokenizer = opened ? *std::move(opened) : nullptr;
      if (tokenizer) answer.set("model", tokenizer->vocabulary().model);
    } else if (const Json* text = request->find("text"); text && tokenizer) {
      answer = encoded(*tokenizer, text->string());
    }
    fmt::print("{}\n", answer.dump());
    std::fflush(stdout);
  }
  return 0;
}
