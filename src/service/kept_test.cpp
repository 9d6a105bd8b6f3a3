// Saved texts that are taken up beside others.
#include "service/kept.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "io/byte_sink.h"
#include "io/byte_source.h"
#include "service/testing/fake_model.h"

namespace puna::service {
namespace {

using base::Result;
using engine::GenerateStats;

constexpr const char* kName = "weights";

struct Written {
  std::vector<int32_t> tokens;
  std::optional<Result<GenerateStats>> result;
};
void begin(LoadedModel& model, std::vector<int32_t> tokens, uint32_t n_tokens, Written& out) {
  engine::GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = n_tokens;
  base::deliver<Result<GenerateStats>>(
      model.scheduler->generate(std::move(tokens), options, {},
                                [&out](const kernels::Chosen& chosen) {
                                  out.tokens.push_back(chosen.id);
                                  return true;
                                }),
      [&out](Result<GenerateStats> result) { out.result = std::move(result); });
}

// Steps until the task is done.
template <class T>
T finished(engine::test::FakeExecutor& device, base::Task<T> task) {
  std::optional<T> out;
  base::deliver<T>(std::move(task), [&out](T result) { out = std::move(result); });
  while (!out && device.pump()) {
  }
  REQUIRE(out.has_value());
  return *std::move(out);
}

}  // namespace

TEST_CASE("a text gives way to one that is taken up where there is no room for both") {
  // Room for one text of the context.
  test::FakeModel fake = test::fake_model({.n_sequences = 2, .context = 256, .n_pages = 8});
  LoadedModel& model = fake.model;
  Written first, other;
  begin(model, test::prompt(200, 1), 1, first);
  while (fake.device->pump()) {
  }
  REQUIRE(first.result.has_value());
  std::vector<std::byte> piece;
  const auto sink = io::to_memory(piece);
  const auto saved = finished(*fake.device, save_known(model, test::prompt(200, 1), kName, *sink));
  REQUIRE_MESSAGE(saved.has_value(), saved.error().text());
  CHECK(*saved == 200);
  REQUIRE(finished(*fake.device, forget(model, test::prompt(200, 1), 0)).has_value());
  CHECK(n_known(model, test::prompt(201, 1)) == 0);

  begin(model, test::prompt(150, 2), 80, other);
  for (int i = 0; i < 20; ++i) REQUIRE(fake.device->pump());
  REQUIRE(!other.result.has_value());
  const auto source = io::from_memory("piece", std::span<const std::byte>(piece));
  std::optional<Result<std::vector<int32_t>>> taken;
  uint32_t n_taken = 0;  // that are known before the other text goes on
  base::deliver<Result<std::vector<int32_t>>>(restore_known(model, kName, *source),
                                              [&](Result<std::vector<int32_t>> result) {
                                                taken = std::move(result);
                                                n_taken = n_known(model, test::prompt(201, 1));
                                              });
  while (!taken && fake.device->pump()) {
  }
  REQUIRE(taken.has_value());
  REQUIRE_MESSAGE(taken->has_value(), taken->error().text());
  CHECK(**taken == test::prompt(200, 1));
  CHECK(n_taken == 200);
  CHECK(!other.result.has_value());

  while (fake.device->pump()) {
  }
  REQUIRE(other.result.has_value());
  REQUIRE(other.result->has_value());
  CHECK(other.tokens == test::continued(test::prompt(150, 2), 80));
}

}  // namespace puna::service
