// A model on two devices, one of which is lost in the middle of a text; two cards where there are
// two, else one adapter (software Vulkan will do) opened twice.
#include <doctest/doctest.h>

#include <array>
#include <atomic>

#include "engine/testing/losable_device.h"
#include "models/testing/tiny_model.h"
#include "service/replicas.h"
#include "service/testing/fake_model.h"

namespace puna::service {
namespace {

using engine::test::LosableDevice;
using test::asks;
using test::next_written;
using test::read_all;

constexpr uint32_t kContext = 512, kAnswer = 400;

LoadedModel model_on(size_t adapter, const std::atomic<bool>& gone) {
  auto opened = gpu::native::open(adapter);
  REQUIRE_MESSAGE(opened.has_value(), opened.error().text());
  DeviceUse use;
  use.device = std::make_shared<LosableDevice>(*std::move(opened), [&gone] { return gone.load(); });
  use.name = use.device->info().name;
  gpu::Device& device = *use.device;
  fixtures::TinyShape shape;
  shape.context = kContext;
  engine::EngineOptions options;
  options.context = kContext;
  options.n_sequences = 2;
  auto model = base::run_until(load("tiny", fixtures::tiny_model(shape), std::move(use), options),
                               [&] { device.poll(); });
  REQUIRE_MESSAGE(model.has_value(), model.error().text());
  return *std::move(model);
}

TEST_CASE("the loss of a device is told to its texts, and the other device goes on") {
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty()) {
    MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
    return;
  }
  // Sorted by what they are: the second is a card only where the first is.
  const bool two = adapters->size() > 1 && (*adapters)[1].info.type == (*adapters)[0].info.type;
  const std::string on = (*adapters)[0].info.name + (two ? ", and another" : ", twice");
  MESSAGE(on);

  std::array<std::atomic<bool>, 2> gone = {};
  std::vector<LoadedModel> models;
  for (size_t i = 0; i < 2; ++i) models.push_back(model_on(two ? i : 0, gone[i]));
  Replicas replicas(std::move(models));
  Hosts& hosts = *replicas.hosts();
  const std::vector<int32_t> prompt = {1, 2, 3, 4, 5};
  const auto expected = read_all(**hosts.all()[1]->post(asks(prompt, kAnswer)));
  REQUIRE(expected.size() == kAnswer);

  auto told = *hosts.all()[0]->post(asks(prompt, kAnswer));
  auto other = *hosts.all()[1]->post(asks(prompt, kAnswer));
  while (!next_written(*told)) told->wait();
  gone[0] = true;
  const size_t n_told = 1 + read_all(*told).size();
  CHECK(n_told < kAnswer);
  const auto reply = told->reply();
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == base::ErrorCode::kDeviceLost);
  CHECK(read_all(*other) == expected);

  // Nothing more is given to the lost one.
  CHECK(hosts.all()[0]->status().device_lost);
  for (int i = 0; i < 4; ++i) {
    const auto part = hosts.take(prompt);
    REQUIRE(&part->host() == hosts.all()[1]);
    CHECK(read_all(**part->host().post(asks(prompt, 8))) ==
          std::vector(expected.begin(), expected.begin() + 8));
  }
  replicas.stop();
}

}  // namespace
}  // namespace puna::service
