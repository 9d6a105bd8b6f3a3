// Speed of encoding and decoding with the tokenizer of a Hugging Face folder or a GGUF file, one
// thread. compare.py runs it beside Hugging Face's library.
//   puna_encode_bench FOLDER|FILE.gguf TEXT [REPEATS]
// Writes one line of JSON: {"mb", "tokens", "mb_s" and "decode_mb_s" (fastest run, by CPU time),
// "load_ms", "round_trip"}; with REPEATS 0 the ids alone, as 32-bit integers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "formats/hf_tokenizer.h"
#include "formats/open.h"
#include "tokenizer/tokenizer.h"

namespace puna {
namespace {

// Time of this thread on a core: other programs on the machine do not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

base::Result<std::unique_ptr<tokenizer::Tokenizer>> open(const std::string& path) {
  if (path.ends_with(".gguf")) {
    PUNA_TRY(formats::ModelFile file, base::run_until(formats::open_model(path), [] {}));
    return tokenizer::Tokenizer::create(std::move(file.vocabulary));
  }
  const std::string json = read_file(path + "/tokenizer.json");
  const std::string config = read_file(path + "/tokenizer_config.json");
  formats::HfTokenizerFiles files;
  files.tokenizer = json;
  files.tokenizer_config = config;
  PUNA_TRY(formats::HfTokenizer read, formats::read_hf_tokenizer(files));
  return tokenizer::Tokenizer::create(std::move(read.vocabulary));
}

template <class Run>
double least_seconds(int repeats, Run&& run) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_seconds();
    run();
    times.push_back(cpu_seconds() - start);
  }
  return *std::min_element(times.begin(), times.end());
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: puna_encode_bench FOLDER|FILE.gguf TEXT [REPEATS]\n");
    return 2;
  }
  const int repeats = argc > 3 ? std::atoi(argv[3]) : 7;
  const std::string text = read_file(argv[2]);
  const double start = cpu_seconds();
  const auto tokenizer = open(argv[1]);
  const double load = cpu_seconds() - start;
  if (!tokenizer) {
    fmt::print(stderr, "error: {}\n", tokenizer.error().text());
    return 1;
  }
  const tokenizer::EncodeOptions options{.add_special = false, .parse_special = true};
  std::vector<int32_t> ids = (*tokenizer)->encode(text, options);
  if (repeats <= 0) {
    std::fwrite(ids.data(), sizeof(int32_t), ids.size(), stdout);
    return 0;
  }
  std::string back;
  const double encode = least_seconds(repeats, [&] { ids = (*tokenizer)->encode(text, options); });
  const double decode = least_seconds(repeats, [&] { back = (*tokenizer)->decode(ids, true); });
  const double mb = static_cast<double>(text.size()) / 1e6;
  fmt::print(
      R"({{"mb": {:.3f}, "tokens": {}, "mb_s": {:.2f}, "decode_mb_s": {:.2f}, "load_ms": {:.0f}, "round_trip": {}}})"
      "\n",
      mb, ids.size(), mb / encode, mb / decode, load * 1e3, back == text);
  return 0;
}

}  // namespace
}  // namespace puna

int main(int argc, char** argv) { return puna::main(argc, argv); }
