#include "manager/in_process.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "manager/registry.h"
#include "service/create.h"
#include "store/store.h"
#include "store/test_store.h"

namespace puna::manager {
namespace {

// A store of the environment with a tiny model "short" in it, whose Modelfile asks for 32 tokens.
class Home {
 public:
  Home() {
    setenv("PUNA_HOME", folder_.path().c_str(), 1);
    const auto store = store::Store::of_environment();
    REQUIRE(store.has_value());
    service::CreateRequest request{.name = "short", .paths = true};
    request.modelfile.from = {std::filesystem::absolute("tests/goldens/llama-q4_0.gguf").string()};
    request.modelfile.parameters = *base::Json::parse(R"({"num_ctx": 32})");
    const auto made = service::create(*store, request, {});
    REQUIRE_MESSAGE(made.has_value(), made.error().text());
  }
  ~Home() { unsetenv("PUNA_HOME"); }

 private:
  const store::TestFolder folder_;
};

TEST_CASE("what a Modelfile says of loading is measured, and loaded so") {
  const Home home;
  InProcess loader([](const Entry&) -> base::Result<Recipe> {
    Recipe out;
    out.options.device = "cpu";
    out.options.engine.n_threads = 1;
    return out;
  });
  const auto found = store::resolve("short");
  REQUIRE_MESSAGE(found.has_value(), found.error().text());
  Entry entry{.id = "short", .path = found->path};
  const std::atomic<bool> cancel{false};
  const auto without = loader.measure(entry, cancel);
  REQUIRE_MESSAGE(without.has_value(), without.error().text());
  entry.stored_as = "short";
  auto measured = loader.measure(entry, cancel);
  REQUIRE_MESSAGE(measured.has_value(), measured.error().text());
  CHECK(measured->need.find(kHost)->second < without->need.find(kHost)->second);

  const auto loaded = loader.load(entry, {.opened = std::move(measured->opened)});
  REQUIRE_MESSAGE(loaded.has_value(), loaded.error().text());
  CHECK((*loaded)->held() == measured->need);
  CHECK((*loaded)->served().loaded().context() == 32);
}

}  // namespace
}  // namespace puna::manager
