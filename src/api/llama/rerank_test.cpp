#include "api/llama/rerank.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;

TEST_CASE("the best texts come first, in the form that was asked for") {
  llama::Ranking ranking{.model = "m", .texts = {"x", "y", "z"}, .top_n = 2, .n_tokens = 9};
  const std::vector<float> scores = {0.25f, -1.0f, 0.5f};
  CHECK(llama::ranking_json(ranking, scores).dump() ==
        R"({"model":"m","object":"list","usage":{"prompt_tokens":9,"total_tokens":9},"results":[)"
        R"({"index":2,"relevance_score":0.5},{"index":0,"relevance_score":0.25}]})");
  ranking.return_texts = true;
  ranking.top_n = 1;
  CHECK(at(llama::ranking_json(ranking, scores), "results", 0, "document").dump() ==
        R"({"text":"z"})");
  ranking.tei = true;
  CHECK(llama::ranking_json(ranking, scores).dump() == R"([{"index":2,"score":0.5,"text":"z"}])");
}

TEST_CASE("question and text are framed as one") {
  const auto pair = [](std::string_view kind, std::string_view form, std::string_view text) {
    formats::ModelFile file = service::test::scripted(service::test::kTemplate);
    if (!form.empty())
      file.metadata.emplace_back("tokenizer.chat_template.rerank", std::string(form));
    file.vocabulary.bos = 0;
    if (kind == "one separator") file.metadata.emplace_back("tokenizer.ggml.add_sep_token", false);
    const service::LoadedModel model = service::test::loaded_cpu(std::move(file));
    return *llama::pair_tokens(model, "a", text);
  };
  CHECK(pair("two separators", "", "aa") == std::vector<int32_t>{0, 8, 1, 1, 8, 8, 1});
  CHECK(pair("one separator", "", "aa") == std::vector<int32_t>{0, 8, 1, 8, 8, 1});
  // What a text says is no place to be filled.
  CHECK(pair("", "<|go|>{query}<|go|>{document}<|end|>", "{query}a") ==
        std::vector<int32_t>{0, 8, 0, 8, 1});
}

TEST_CASE("a question that leaves no room is refused before it stands in every pair") {
  engine::EngineOptions options;
  options.embeddings = true;
  options.pooling = models::Pooling::kRank;
  formats::ModelFile file = service::test::scripted(service::test::kTemplate);
  for (formats::Tensor& tensor : file.tensors) {
    if (tensor.name == "output.weight") tensor.name = "cls.output.weight";
  }
  file.index();
  Served served(service::test::loaded_cpu(std::move(file), std::move(options)));
  Json body = Json::object().set("query", std::string(70, 'a'));
  body.set("documents", Json::array().push("a").push("a"));
  const auto refused = served.ask(llama::rerank, body.dump());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kInvalidArgument);
  CHECK(refused.error().text().ends_with("but the model reads 64. - While reading text 1"));
}

TEST_CASE("scores are refused where there are none, and bad questions are named") {
  Served served(service::test::scripted_model());
  const auto exchange = served.ask(llama::rerank, R"({"query": "a", "documents": ["a"]})");
  REQUIRE(exchange.has_value());
  CHECK(std::get<HttpReply>(*exchange).status == 501);
  for (const auto& [body, field] :
       {std::pair{R"({"documents": ["a"]})", "\"query\""},
        {R"({"query": "a"})", "\"documents\""},
        {R"({"query": "a", "documents": []})", "\"documents\""},
        {R"({"query": "a", "documents": [1]})", "\"documents\""},
        {R"({"query": "a", "texts": []})", "\"texts\""},
        {R"({"query": "a", "texts": ["a"], "top_n": 0})", "\"top_n\""}}) {
    const auto refused = served.ask(llama::rerank, body);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    CHECK(refused.error().message.find(field) != std::string::npos);
  }
}
