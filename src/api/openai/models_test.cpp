#include "api/openai/models.h"

#include "api/testing/many.h"
#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

TEST_CASE("models are listed, and found by any of their names") {
  Served served;
  const Json body = body_of(served.ask(openai::models, ""));
  CHECK(at(body, "object") == Json("list"));
  CHECK(at(body, "data", 0, "id") == Json("fake"));
  CHECK(at(body, "data", 0, "meta", "n_vocab") == Json(1000));
  CHECK(at(body, "data", 0, "architecture", "input_modalities").dump() == R"(["text"])");
  CHECK(at(body, "models", 0, "model") == Json("fake"));
  CHECK(at(body, "models", 0, "capabilities", 0) == Json("completion"));
  // Its file's name is one too, but no alias.
  CHECK(at(body, "data", 0, "aliases").dump() == R"(["fake","Other:1b"])");
  for (const char* name : {"fake", "FAKE:latest", "other:1b", "fake-q8_0"})
    CHECK(at(body_of(served.ask(openai::model, "", {name})), "object") == Json("model"));
  CHECK(served.ask(openai::model, "", {"none"}).error().code == base::ErrorCode::kNotFound);
  bool found = true;
  served.source.acquire({.name = "none"}, [&](const base::Result<ModelLease>& lease) {
    found = lease.has_value();
    CHECK(lease.error().message == "The model \"none\" is not served here; there is \"fake\".");
  });
  CHECK_FALSE(found);
}

TEST_CASE("what a model's file says is told") {
  Served served(service::test::scripted_model());
  const Json meta = at(body_of(served.ask(openai::models, "")), "data", 0, "meta");
  CHECK(at(meta, "vocab_type") == Json(2));
  CHECK(at(meta, "n_embd") == Json(64));
  CHECK(at(meta, "n_params").integer() > 64 * 64);
  CHECK(at(meta, "ftype").is_null());
}

TEST_CASE("what a model takes that is not loaded is said, as far as anybody has looked") {
  Served served;
  Many many(served);
  many.takes = service::Takes{.pictures = true, .sounds = true};
  const Json body = body_of(many.ask(openai::models, ""));
  CHECK(at(body, "data", 0, "architecture", "input_modalities").dump() == R"(["text"])");
  CHECK(at(body, "data", 1, "architecture", "input_modalities").dump() ==
        R"(["text","image","audio"])");
  CHECK(at(body, "data", 2, "architecture", "input_modalities").dump() == R"(["text"])");
}
