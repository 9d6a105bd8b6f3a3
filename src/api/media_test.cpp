// Pictures and sounds in the bodies of all dialects: where they stand, and what is refused.
#include "api/media.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "api/anthropic/request.h"
#include "api/base64.h"
#include "api/ollama/chat.h"
#include "api/ollama/generate.h"
#include "api/openai/chat_request.h"
#include "api/openai/response_request.h"
#include "api/testing/served.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using api::test::json;
using base::ErrorCode;
using base::Json;
using models::Sense;

namespace {

constexpr const char* kTemplate = "{% for m in messages %}{{ m.content }}{% endfor %}<|go|>";

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += static_cast<char>(byte);
  return out;
}

// "message:place=bytes", a sound with an asterisk behind it.
std::string shown(const service::Request& request) {
  std::string out;
  for (const service::PlacedMedia& one : request.media) {
    REQUIRE(one.file != nullptr);
    out += fmt::format("{}{}:{}={}{}", out.empty() ? "" : " ", one.message, one.at,
                       one.file->url.empty() ? text_of(one.file->bytes) : one.file->url,
                       one.file->sense == Sense::kSounds ? "*" : "");
  }
  return out;
}

const service::LoadedModel& model() {
  static const service::LoadedModel kModel = service::test::scripted_model(kTemplate);
  return kModel;
}

service::Request chat_of(std::string_view messages) {
  const Json body = json(fmt::format(R"({{"messages": {}}})", messages));
  auto read = openai::read_chat(body, model());
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  return read->answer.request;
}

std::string refused_part(std::string_view part) {
  const Json body =
      json(fmt::format(R"({{"messages": [{{"role": "user", "content": [{}]}}]}})", part));
  auto read = openai::read_chat(body, model());
  REQUIRE_MESSAGE(!read.has_value(), part);
  const bool fits = read.error().code == ErrorCode::kInvalidArgument ||
                    read.error().code == ErrorCode::kUnsupported;
  CHECK(fits);
  return read.error().text();
}

}  // namespace

TEST_CASE("base64 is read with and without padding, and nothing else is") {
  const auto read = [](std::string_view text) {
    const auto bytes = from_base64(text);
    return bytes ? text_of(*bytes) : "none";
  };
  CHECK(read("") == "");
  CHECK(read("YQ==") == "a");
  CHECK(read("YWI=") == "ab");
  CHECK(read("YWI") == "ab");
  CHECK(read("YWJj") == "abc");
  CHECK(read("+/+/") == read("-_-_"));
  CHECK(read("YW\r\nJj\nYQ==\n") == "abca");
  CHECK(read("\n") == "");
  for (const char* wrong : {"Y", "YQ=", "=", "====", "YQ==YQ==", "YW J", "YWJj\t", "Y\xc3\xa4"})
    CHECK_MESSAGE(read(wrong) == "none", wrong);
}

TEST_CASE("a chat's parts stand in its text") {
  const service::Request request = chat_of(R"([
      {"role": "system", "content": "b"},
      {"role": "user", "content": [
        {"type": "text", "text": "aa"},
        {"type": "image_url", "image_url": {"url": "Data:image/png;Base64,WA\n==", "detail": "low"}},
        {"type": "text", "text": "a"},
        {"type": "input_audio", "input_audio": {"data": "WQ==", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}])");
  CHECK(request.messages[1].content == "aaa");
  CHECK(shown(request) == "1:2=X 1:3=Y* 1:3=https://example.org/a.png");
}

TEST_CASE("parts that cannot be read are refused by name") {
  CHECK(refused_part(R"({"type": "text"})")
            .starts_with("The field \"text\" is null, but has to be a text."));
  CHECK(refused_part(R"({"type": "image_url", "image_url": "data:,"})")
            .starts_with("The field \"image_url\" is \"data:,\", but has to be an object"));
  CHECK(refused_part(R"({"type": "image_url", "image_url": {"url": "data:image/png,x"}})")
            .starts_with("The field \"image_url\" is a data: URL that is not in base64."));
  CHECK(
      refused_part(R"({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}})")
          .starts_with("The field \"image_url\" begins with \"file:///etc/passwd\", but has to "));
  CHECK(refused_part(R"({"type": "image_url", "image_url": {"url": "data:;base64,WA==",
                         "detail": "best"}})")
            .starts_with("The field \"detail\" is \"best\""));
  CHECK(refused_part(R"({"type": "input_audio", "input_audio": {"data": "?"}})")
            .starts_with("The field \"input_audio\" is no base64 (1 characters)."));
  CHECK(refused_part(R"({"type": "input_audio", "input_audio": {"format": "wav"}})")
            .starts_with("The field \"data\" is null, "));
  CHECK(refused_part(R"({"type": "input_audio", "input_audio": {"data": "WA==",
                         "format": "opus"}})")
            .starts_with("The field \"format\" is \"opus\""));
  CHECK(refused_part(R"({"type": "input_video", "input_video": {"data": "WA=="}})")
            .find("\"input_video\"") != std::string::npos);
  CHECK(refused_part(R"({"type": "file", "file": {}})").find("\"file\"") != std::string::npos);
}

TEST_CASE("responses have pictures and sounds in messages and outputs") {
  const Json body = json(R"({"input": [
      {"role": "user", "content": [
        {"type": "input_text", "text": "aa"},
        {"type": "input_image", "image_url": "data:image/png;base64,WA==", "detail": "auto"},
        {"type": "input_audio", "input_audio": {"data": "WQ==", "format": "mp3"}}]},
      {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c", "output": [
        {"type": "input_file", "filename": "a.png", "file_data": "data:image/png;base64,Wg=="},
        {"type": "input_text", "text": "a"}]}]})");
  auto read = openai::read_response_request(body, model());
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  CHECK(shown(read->answer.request) == "0:2=X 0:2=Y* 2:0=Z");
  CHECK(read->answer.request.messages[2].content == "a");
}

TEST_CASE("Anthropic's messages have images and documents, in results too") {
  const Json body = json(R"({"max_tokens": 3, "messages": [
      {"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "WA=="}},
        {"type": "text", "text": "aa"},
        {"type": "document", "title": "b", "source": {"type": "text", "media_type": "text/plain",
         "data": "a"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}]},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": true,
        "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "base64",
         "media_type": "image/png", "data": "WQ=="}}]}]}]})");
  auto read = anthropic::read_message_request(body, model());
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  const service::Request& request = read->request;
  CHECK(request.messages[0].content == "aa\nb\na");
  CHECK(request.messages[2].content == "Error: a");
  CHECK(shown(request) == "0:0=X 0:6=https://example.org/a.png 2:8=Y");
}

TEST_CASE("Ollama's images stand before the text, of a chat and of a prompt") {
  test::Served served(service::test::scripted_model(kTemplate));
  auto chat = served.ask(ollama::chat, R"({"model": "fake", "messages": [
      {"role": "system", "content": "a"},
      {"role": "user", "content": "aa", "images": ["WA==", "UklGRgAAAABXQVZF"]}]})");
  CHECK(shown(test::texts_of(std::move(chat)).requests.front()).starts_with("1:0=X 1:0=RIFF"));
  auto prompt = served.ask(
      ollama::generate, R"({"model": "fake", "prompt": "aa", "system": "a", "images": ["WA=="]})");
  CHECK(shown(test::texts_of(std::move(prompt)).requests.front()) == "1:0=X");
  auto beside = served.ask(
      ollama::generate, R"({"model": "fake", "prompt": "a", "images": ["WA=="], "context": [1]})");
  REQUIRE(!beside.has_value());
  CHECK(beside.error().message == "The field \"images\" has no place beside \"context\".");
}
