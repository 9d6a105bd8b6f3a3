#include "api/openai/transcript_forms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace puna;
using api::openai::HeardPart;
using api::openai::Transcript;

namespace {

HeardPart part(double from, double to, std::string text) {
  HeardPart out{.from = from, .to = to, .reply = {}};
  out.reply.text = std::move(text);
  out.reply.tokens = {7, 8};
  out.reply.stats.n_prompt = 3;
  out.reply.stats.n_cached = 2;
  out.reply.stats.n_generated = 2;
  return out;
}

api::HttpReply written(std::string_view form, const Transcript& transcript) {
  const auto forms = api::openai::transcript_forms();
  const auto found = std::ranges::find(forms, form, &api::openai::TranscriptForm::name);
  REQUIRE(found != forms.end());
  return found->write(transcript);
}

Transcript two_parts() {
  Transcript out;
  out.parts.push_back(part(0, 30, " One --> two\n\n<b>&\r\n3 "));
  out.parts.push_back(part(30, 3661.2345, "Four"));
  return out;
}

}  // namespace

TEST_CASE("a sound is cut every thirty seconds, and no part is shorter than one") {
  using Begins = std::vector<double>;
  CHECK(api::openai::part_begins(0.2) == Begins{0});
  CHECK(api::openai::part_begins(30) == Begins{0});
  CHECK(api::openai::part_begins(30.99) == Begins{0});
  CHECK(api::openai::part_begins(31) == Begins{0, 30});
  CHECK(api::openai::part_begins(90.5) == Begins{0, 30, 60});
}

TEST_CASE("subtitles have times, and texts that do not end a cue") {
  const api::HttpReply srt = written("srt", two_parts());
  CHECK(srt.content_type == "text/plain; charset=utf-8");
  CHECK(srt.body ==
        "1\n00:00:00,000 --> 00:00:30,000\nOne --> two\n<b>&\n3\n\n"
        "2\n00:00:30,000 --> 01:01:01,235\nFour\n\n");
  const api::HttpReply vtt = written("vtt", two_parts());
  CHECK(vtt.content_type == "text/vtt; charset=utf-8");
  CHECK(vtt.body ==
        "WEBVTT\n\n00:00:00.000 --> 00:00:30.000\nOne --&gt; two\n&lt;b&gt;&amp;\n3\n\n"
        "00:00:30.000 --> 01:01:01.235\nFour\n\n");
}

TEST_CASE("verbose JSON has a segment for each part, and null for what is not known") {
  Transcript heard = two_parts();
  heard.parts[0].reply.chosen = {{.id = 7, .logprob = -0.5F, .top = {}},
                                 {.id = 8, .logprob = -1.5F, .top = {}}};
  heard.language = "en";
  heard.temperature = 0.5;
  const auto json = base::Json::parse(written("verbose_json", heard).body);
  REQUIRE(json.has_value());
  CHECK(json->find("task")->string() == "transcribe");
  CHECK(json->find("language")->string() == "en");
  CHECK(json->find("duration")->number() == 3661.2345);
  CHECK(json->find("text")->string() == "One --> two\n\n<b>&\r\n3 Four");
  CHECK(json->find("usage")->find("input_tokens")->integer() == 10);
  CHECK(json->find("usage")->find("total_tokens")->integer() == 14);
  const auto& segments = json->find("segments")->items();
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].find("avg_logprob")->number() == -1);
  CHECK(segments[1].dump() ==
        R"({"id":1,"seek":3000,"start":30.0,"end":3661.2345,"text":"Four","tokens":[7,8],)"
        R"("temperature":0.5,"avg_logprob":null,"compression_ratio":null,"no_speech_prob":null})");
}

TEST_CASE("without times a text is as it was written") {
  Transcript heard;
  heard.parts.push_back(part(0, 0, " One\n"));
  CHECK(written("text", heard).body == " One\n");
  const auto json = base::Json::parse(written("json", heard).body);
  CHECK(json->find("text")->string() == " One\n");
  CHECK(json->find("usage")->find("input_token_details")->find("cached_tokens")->integer() == 2);
}
