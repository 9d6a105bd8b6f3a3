// What the store says of a Modelfile without knowing the rooms that mean it.
#include "store/modelfile.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "api/ollama/options.h"
#include "chat/parsers.h"
#include "store/modelfile_parameters.h"

namespace puna::api::ollama {
namespace {

TEST_CASE("renderers and parsers of a Modelfile are styles of replies that there are") {
  for (const store::ModelFamily& family : store::model_families()) {
    CAPTURE(family.name);
    CHECK(std::ranges::find(chat::reply_styles(), family.style, &chat::ReplyStyle::name) !=
          chat::reply_styles().end());
    CHECK((family.renderer || family.parser));
  }
  CHECK(std::ranges::is_sorted(store::model_families(), {}, &store::ModelFamily::name));
}

TEST_CASE("parameters of a Modelfile are options of requests, in the same ranges") {
  using Kind = store::ModelfileParameter::Kind;
  for (const store::ModelfileParameter& parameter : store::modelfile_parameters()) {
    CAPTURE(parameter.name);
    const auto fields = all_option_fields();
    const auto field = std::ranges::find(fields, parameter.name, &Field::name);
    REQUIRE(field != fields.end());
    if (field->effect != Field::Effect::kMeant || parameter.name == "seed") continue;
    switch (parameter.kind) {
      case Kind::kTexts:
        CHECK(field->kind == Field::Kind::kTexts);
        continue;
      case Kind::kFlag:
        CHECK(field->kind == Field::Kind::kFlag);
        continue;
      case Kind::kInteger:
        CHECK(field->kind == Field::Kind::kInteger);
        break;
      case Kind::kNumber:
        CHECK(field->kind == Field::Kind::kNumber);
        break;
    }
    CHECK(static_cast<float>(parameter.lowest) == static_cast<float>(field->least));
    CHECK(static_cast<float>(parameter.highest) == static_cast<float>(field->most));
  }
  for (const std::string_view name : store::former_parameters()) {
    const auto fields = all_option_fields();
    const auto field = std::ranges::find(fields, name, &Field::name);
    CAPTURE(name);
    if (field != fields.end()) CHECK(field->effect != Field::Effect::kMeant);
  }
}

}  // namespace
}  // namespace puna::api::ollama
