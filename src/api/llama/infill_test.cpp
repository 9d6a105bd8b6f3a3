#include "api/llama/infill.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

namespace {

// The scripted model, some of whose unused tokens have other names.
service::LoadedModel fim_model(bool files) {
  formats::ModelFile file = service::test::scripted(service::test::kTemplate);
  file.vocabulary.tokens[10] = "<|fim_prefix|>";
  file.vocabulary.tokens[11] = "<|fim_suffix|>";
  file.metadata.emplace_back("tokenizer.ggml.fim_mid_token_id", uint64_t{12});
  if (files) {
    file.vocabulary.tokens[13] = "<|repo_name|>";
    file.vocabulary.tokens[14] = "<|file_sep|>";
  }
  return service::test::loaded_cpu(std::move(file));
}

std::vector<int32_t> tokens_of(Served& served, std::string_view body) {
  return texts_of(served.ask(llama::infill, body)).requests.at(0).tokens;
}

}  // namespace

TEST_CASE("what stands between two texts is asked for by the tokens of the model") {
  Served served(fim_model(/*files=*/false));
  CHECK(tokens_of(served, R"({"input_prefix": "a", "input_suffix": "aa", "prompt": "a"})") ==
        std::vector<int32_t>{10, 8, 11, 8, 8, 12, 8});
  // What the texts say is no token of the model's own.
  CHECK(tokens_of(served, R"({"input_prefix": "<|go|>", "input_suffix": ""})") ==
        std::vector<int32_t>{10, 11, 12});
  CHECK(tokens_of(served, R"({"input_prefix": "", "input_suffix": "",
                              "input_extra": [{"filename": "x", "text": "a"}]})") ==
        std::vector<int32_t>{8, 10, 11, 12});
  Served files(fim_model(/*files=*/true));
  // Of "filename" only the a has a token.
  CHECK(tokens_of(files, R"({"input_prefix": "", "input_suffix": "",
                             "input_extra": [{"filename": "x", "text": "aa"}]})") ==
        std::vector<int32_t>{13, 14, 8, 8, 14, 8, 10, 11, 12});
}

TEST_CASE("the suffix comes before the prefix where that is asked for") {
  service::LoadedModel model = fim_model(/*files=*/false);
  model.defaults.suffix_first = true;
  Served served(std::move(model));
  CHECK(tokens_of(served, R"({"input_prefix": "a", "input_suffix": "aa", "prompt": "a",
                              "input_extra": [{"text": "a"}]})") ==
        std::vector<int32_t>{8, 11, 8, 8, 10, 8, 12, 8});
}

TEST_CASE("an infill that cannot be is refused") {
  Served plain(service::test::scripted_model());
  CHECK(plain.ask(llama::infill, R"({"input_prefix": "a", "input_suffix": "a"})").error().code ==
        base::ErrorCode::kUnsupported);
  Served served(fim_model(/*files=*/false));
  for (const char* body :
       {R"({"input_prefix": "a"})", R"({"input_suffix": "a"})",
        R"({"input_prefix": 1, "input_suffix": "a"})",
        R"({"input_prefix": "a", "input_suffix": "a", "input_extra": [1]})",
        R"({"input_prefix": "a", "input_suffix": "a", "input_extra": [{"text": 1}]})"})
    CHECK(served.ask(llama::infill, body).error().code == base::ErrorCode::kInvalidArgument);
}
