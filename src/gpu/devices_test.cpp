#include "gpu/devices.h"

#include <doctest/doctest.h>

using namespace puna;
using namespace puna::gpu;

namespace {

native::Adapter adapter(std::string name, AdapterType type) {
  native::Adapter out;
  out.info.name = std::move(name);
  out.info.type = type;
  return out;
}
// Lists are as native::adapters() sorts them: real ones first.
const std::vector<native::Adapter> kNone;
const std::vector<native::Adapter> kSoftware = {adapter("llvmpipe", AdapterType::kSoftware)};
const std::vector<native::Adapter> kBoth = {adapter("H200", AdapterType::kDiscrete),
                                            adapter("Iris", AdapterType::kIntegrated),
                                            adapter("llvmpipe", AdapterType::kSoftware)};

}  // namespace

TEST_CASE("auto takes the first real GPU and never a software adapter") {
  CHECK(choose_device("auto", kBoth)->adapter == 0);
  CHECK(choose_device("auto", kBoth)->why == "the first discrete GPU");
  CHECK(choose_device("auto", std::span(kBoth).subspan(1))->why == "the first integrated GPU");
  CHECK(choose_device("auto", kSoftware)->adapter == std::nullopt);
  CHECK(choose_device("auto", kSoftware)->why == "there is no GPU, only a software adapter");
  CHECK(choose_device("auto", kNone)->why == "there is no GPU");
}

TEST_CASE("gpu takes a software adapter only with a warning and fails without any") {
  CHECK(choose_device("gpu", kBoth)->adapter == 0);
  CHECK(choose_device("gpu", kBoth)->warning == "");
  CHECK(choose_device("gpu", kSoftware)->adapter == 0);
  CHECK(choose_device("gpu", kSoftware)->warning ==
        "llvmpipe computes on the CPU: it is for tests and slower than --device cpu.");
  const auto none = choose_device("gpu", kNone);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == base::ErrorCode::kNotFound);
  CHECK(none.error().message ==
        "There is no GPU that WebGPU can use; check the driver, or use --device cpu.");
}

TEST_CASE("gpu:N takes adapter N of the list") {
  CHECK(choose_device("gpu:2", kBoth)->adapter == 2);
  CHECK(choose_device("gpu:3", kBoth).error().message ==
        "There is no GPU 3; `puna devices` lists 0 to 2.");
  CHECK(choose_device("gpu:0", kNone).error().message ==
        "There is no GPU for --device gpu:0; use --device cpu.");
  for (const char* wrong : {"gpu:", "gpu:x", "gpu:-1", "gpu:1x", "gpu: 1"}) {
    CHECK(choose_device(wrong, kBoth).error().code == base::ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("further GPUs are those that are named, or the other cards beside a card") {
  const std::vector<native::Adapter> cards = {
      adapter("H100", AdapterType::kDiscrete), adapter("H100", AdapterType::kDiscrete),
      adapter("Iris", AdapterType::kIntegrated), adapter("llvmpipe", AdapterType::kSoftware)};
  using More = std::vector<size_t>;
  CHECK(choose_device("auto", cards)->more == More{1});
  CHECK(choose_device("gpu", cards)->more == More{1});
  CHECK(choose_device("auto", kBoth)->more.empty());
  CHECK(choose_device("auto", std::span(kBoth).subspan(1))->more.empty());
  CHECK(choose_device("gpu:1", cards)->more.empty());
  CHECK(choose_device("gpu:1,gpu:3,gpu:0", cards)->adapter == 1);
  CHECK(choose_device("gpu:1,gpu:3,gpu:0", cards)->more == More{3, 0});
  CHECK(choose_device("gpu:1,gpu:4", cards).error().message ==
        "There is no GPU 4; `puna devices` lists 0 to 3.");
  CHECK(choose_device("gpu:1,gpu:1", cards).error().message ==
        "Device \"gpu:1,gpu:1\" names gpu:1 twice.");
  for (const char* wrong : {"gpu:1,", "gpu:1,cpu", "gpu:1,1", ",gpu:1", "gpu:1,,gpu:0"})
    CHECK(choose_device(wrong, cards).error().code == base::ErrorCode::kInvalidArgument);
}

TEST_CASE("cpu needs no adapter, and other names are refused") {
  CHECK(choose_device("cpu", kBoth)->adapter == std::nullopt);
  CHECK(choose_device("tpu", kBoth).error().message ==
        "Device \"tpu\" is none of auto, gpu, gpu:N, cpu.");
  CHECK(choose_device("", kBoth).error().code == base::ErrorCode::kInvalidArgument);
}

TEST_CASE("every adapter is told why auto takes it or not") {
  CHECK(
      explain_auto(kBoth) ==
      std::vector<std::string>{"taken: the first discrete GPU", "not taken: H200 comes first",
                               "not taken: it computes on the CPU, which Puna does faster itself"});
  CHECK(explain_auto(kNone).empty());
}
