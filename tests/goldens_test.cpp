// The models of tests/goldens/ through the whole core, on the CPU device: logits of every position
// and the greedy text are those of the float64 reference. The sources answer late, as a page's do,
// so loading really waits. Runs natively and, from the same code, as WebAssembly under Node: both
// agree with one reference to far below the limit, and so with each other.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/task.h"
#include "engine/engine.h"
#include "formats/open.h"
#include "io/byte_source.h"
#include "io/test_sources.h"

using namespace puna;

namespace {

constexpr double kNmseLimit = 1e-6;  // exact numerics against the stored weights

std::string read_text(const std::string& path) {
  auto source = io::open_file(path);
  REQUIRE_MESSAGE(source.has_value(), source.error().text());
  std::string text((*source)->size(), '\0');
  const auto read =
      base::run_until(io::read(**source, 0, std::as_writable_bytes(std::span(text))), [] {});
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  return text;
}

// The values of a float32 .npy file: two bytes of header length at 8, then the header, then data.
std::vector<float> read_npy(const std::string& path) {
  const std::string bytes = read_text(path);
  REQUIRE(bytes.starts_with(std::string_view("\x93NUMPY\x01\x00", 8)));
  const size_t start = 10 + static_cast<unsigned char>(bytes[8]) +
                       (size_t{static_cast<unsigned char>(bytes[9])} << 8);
  REQUIRE(bytes.find("'<f4'") < start);
  std::vector<float> values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

std::vector<int32_t> ids(const base::Json& facts, const char* key) {
  std::vector<int32_t> out;
  for (const base::Json& id : facts.find(key)->items())
    out.push_back(static_cast<int32_t>(id.integer()));
  return out;
}

// A golden model with what is known of it, loaded from a source that answers late.
struct Golden {
  explicit Golden(const std::string& name) {
    const std::string path = "tests/goldens/" + name;
    auto parsed = base::Json::parse(read_text(path + ".json"));
    REQUIRE(parsed.has_value());
    facts = *std::move(parsed);
    reference = read_npy(path + ".npy");
    auto inner = io::open_file(path + ".gguf");
    REQUIRE_MESSAGE(inner.has_value(), inner.error().text());
    const auto pump = [this] { REQUIRE(reads.pump()); };
    auto file = base::run_until(
        formats::open_model(std::make_unique<io::DeferredSource>(*std::move(inner), reads)), pump);
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    engine::EngineOptions options;
    options.kv_type = kernels::KvType::kF32;
    options.numerics = kernels::Numerics::kExact;
    options.n_threads = 2;
    auto loaded = base::run_until(
        engine::Engine::load(*std::move(file), /*device=*/nullptr, std::move(options)), pump);
    REQUIRE_MESSAGE(loaded.has_value(), loaded.error().text());
    engine = *std::move(loaded);
  }

  io::ReadQueue reads;
  base::Json facts;
  std::vector<float> reference;
  std::unique_ptr<engine::Engine> engine;
};

constexpr const char* kNames[] = {"llama-q4_0", "llama-q4_k_m", "gemma3-q8_0"};

}  // namespace

TEST_CASE("logits of the golden models are those of the reference") {
  for (const char* name : kNames) {
    CAPTURE(name);
    Golden golden(name);
    std::vector<float> logits(golden.reference.size());
    const auto done = base::run_until(golden.engine->logits(ids(golden.facts, "tokens"), logits),
                                      [&] { golden.engine->poll(); });
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    double error = 0, norm = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const double difference = double{logits[i]} - double{golden.reference[i]};
      error += difference * difference;
      norm += double{golden.reference[i]} * double{golden.reference[i]};
    }
    CHECK(error / norm <= kNmseLimit);
  }
}

TEST_CASE("the greedy text of the golden models is that of the reference") {
  for (const char* name : kNames) {
    CAPTURE(name);
    Golden golden(name);
    const std::vector<int32_t> expected = ids(golden.facts, "greedy");
    std::vector<int32_t> text;
    engine::GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = static_cast<uint32_t>(expected.size());
    const auto stats = base::run_until(
        golden.engine->generate(0, ids(golden.facts, "tokens"), options, /*end_tokens=*/{},
                                [&](int32_t id) {
                                  text.push_back(id);
                                  return true;
                                }),
        [&] { golden.engine->poll(); });
    REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
    CHECK(text == expected);
  }
}
