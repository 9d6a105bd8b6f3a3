#include "service/media_prompt.h"

#include <doctest/doctest.h>

#include <string>

#include "service/prepare.h"
#include "service/testing/scripted_model.h"
#include "tokenizer/test_vocabulary.h"

namespace puna::service {
namespace {

std::unique_ptr<tokenizer::Tokenizer> tokenizer(bool framed) {
  tokenizer::Vocabulary vocabulary = tokenizer::byte_level_vocabulary({});
  vocabulary.bos = vocabulary.eos = 256;  // <|end|>
  vocabulary.add_bos = vocabulary.add_eos = framed;
  auto made = tokenizer::Tokenizer::create(std::move(vocabulary));
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *std::move(made);
}

// Two runs of rows with a special token before each, as of a picture in two tiles.
std::shared_ptr<EncodedMedia> picture() {
  auto out = std::make_shared<EncodedMedia>();
  out->row_width = 2;
  out->rows = {1, 2, 3, 4, 5, 6};
  out->both_ways = true;
  out->digest[0] = std::byte{7};
  out->pieces.resize(4);
  out->pieces[0].text = "<|end|>";
  out->pieces[1] = {.text = {}, .first_row = 0, .n_rows = 2, .cells = {1, 2}};
  out->pieces[2].text = "\n<|end|>";
  out->pieces[3] = {.text = {}, .first_row = 2, .n_rows = 1, .cells = {1, 1}};
  return out;
}

// Ids, with -1 for rows.
std::vector<int32_t> ids(const engine::Prompt& prompt) {
  std::vector<int32_t> out = prompt.tokens();
  for (int32_t& id : out) id = std::max(id, -1);
  return out;
}

TEST_CASE("marks are taken out of a text, and tell where they stood") {
  const UnmarkedText text = take_marks("a<__media__>bc<__media__>");
  CHECK(text.text == "abc");
  CHECK(text.places == std::vector<size_t>{1, 3});
  CHECK(take_marks("<__media_>").places.empty());
}

TEST_CASE("a picture stands in a text with what its family puts around it") {
  const auto plain = tokenizer(false);
  const PlacedMedia one{.message = 0, .at = 1, .media = picture()};
  const engine::Prompt prompt = media_prompt(*plain, "ab", std::span(&one, 1), /*ends=*/true);
  CHECK(ids(prompt) == std::vector<int32_t>{'a', 256, -1, -1, '\n', 256, -1, 'b'});
  REQUIRE(prompt.spans().size() == 2);
  const engine::Media& first = *prompt.spans()[0].media;
  const engine::Media& second = *prompt.spans()[1].media;
  CHECK(first.rows == std::vector<float>{1, 2, 3, 4});
  CHECK(second.rows == std::vector<float>{5, 6});
  CHECK(first.grid_columns == 2);
  CHECK(second.both_ways);
  // Rows of different tiles are known apart.
  CHECK(first.digest != second.digest);
}

TEST_CASE("the frame of a text stands around its pictures") {
  const auto framed = tokenizer(true);
  const PlacedMedia two[] = {{.message = 0, .at = 0, .media = picture()},
                             {.message = 0, .at = 0, .media = picture()}};
  const std::vector<int32_t> one = {256, -1, -1, '\n', 256, -1};
  std::vector<int32_t> expected = one;
  expected.insert(expected.end(), one.begin(), one.end());
  expected.insert(expected.end(), {'x', 256});
  CHECK(ids(media_prompt(*framed, "x", two, /*ends=*/true)) == expected);
  // A mark in the text itself is text.
  const engine::Prompt words = media_prompt(*framed, kMediaMark, {}, /*ends=*/false);
  CHECK(words.spans().empty());
  CHECK(words.tokens().size() == 1 + kMediaMark.size());
}

TEST_CASE("pictures stand in messages where they were put, whatever the text around them says") {
  auto media = std::make_shared<EncodedMedia>();
  media->row_width = test::kWide;
  media->rows.resize(size_t{2} * test::kWide);
  media->pieces.resize(2);
  media->pieces[0].text = "<|9|>";
  media->pieces[1].n_rows = 2;
  engine::EngineOptions options;
  options.media = true;
  const LoadedModel model =
      test::scripted_model("{% for m in messages %}{{ m.content }}{% endfor %}<|go|>", options);
  Request request;
  request.messages = {{.role = "user", .content = "a"}, {.role = "user", .content = "aa"}};
  request.media = {{.message = 1, .at = 0, .media = media},
                   {.message = 1, .at = 1, .media = media}};
  const auto prepared = prepare(model, request);
  REQUIRE_MESSAGE(prepared.has_value(), prepared.error().text());
  CHECK(ids(prepared->prompt) == std::vector<int32_t>{8, 9, -1, -1, 8, 9, -1, -1, 8, 0});

  // What is put in their place while the template is rendered may stand in a message too.
  request.messages[0].content = "a\uE0F40\uF8F5a";
  const auto marked = prepare(model, request);
  REQUIRE_MESSAGE(marked.has_value(), marked.error().text());
  CHECK(marked->prompt.spans().size() == 2);

  // A template that leaves a picture out, and ids, have no place for it.
  const LoadedModel silent = test::scripted_model("<|go|>", options);
  CHECK(prepare(silent, request).error().message ==
        "The messages have 2 pictures or sounds, but the chat template of scripted writes 0 of "
        "them.");
  request.messages.clear();
  request.tokens = {8, 8};
  CHECK(prepare(model, request).error().message ==
        "Pictures and sounds stand in texts, but token ids are given.");
}

}  // namespace
}  // namespace puna::service
