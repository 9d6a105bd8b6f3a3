#include "service/profiles.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/log.h"

using namespace puna;

namespace {

gpu::DeviceInfo some_device() {
  gpu::DeviceInfo device;
  device.name = "Some GPU (rev. 2)";
  device.backend = "vulkan";
  device.driver = "driver 1.2";
  return device;
}

// A home folder of its own, and what is logged.
class Home {
 public:
  Home() {
    std::filesystem::path path = std::filesystem::temp_directory_path() / "puna-XXXXXX";
    std::string name = path.string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    setenv("PUNA_HOME", path_.c_str(), 1);
    base::set_log_sink([this](base::LogLevel, std::string_view text) { lines.emplace_back(text); },
                       base::LogLevel::kWarning);
  }
  ~Home() {
    base::set_log_sink([](base::LogLevel, std::string_view) {}, base::LogLevel::kWarning);
    unsetenv("PUNA_HOME");
    std::filesystem::remove_all(path_);
  }
  std::vector<std::string> lines;

 private:
  std::string path_;
};

kernels::Profile some_profile() {
  kernels::Profile profile;
  profile.kernels["gemm f16 64x64 fast x512"] = {{{"rows", 4}}, 10, 9};
  return profile;
}

}  // namespace

TEST_CASE("a profile is stored for its device and found again") {
  Home home;
  CHECK(!service::stored_profile(some_device()));
  REQUIRE(service::store_profile(some_device(), some_profile()));
  const auto found = service::stored_profile(some_device());
  REQUIRE(found);
  CHECK(found->kernels.contains("gemm f16 64x64 fast x512"));
  const auto path = service::profile_path(kernels::ProfileKey::of(some_device()));
  REQUIRE(path);
  CHECK(path->ends_with("/profiles/some-gpu-rev-2-vulkan-workgroup-256-16384.json"));
  CHECK(home.lines.empty());
}

TEST_CASE("a profile of another driver is passed over with one line that says so") {
  Home home;
  REQUIRE(service::store_profile(some_device(), some_profile()));
  gpu::DeviceInfo newer = some_device();
  newer.driver = "driver 1.3";
  CHECK(!service::stored_profile(newer));
  REQUIRE(home.lines.size() == 1);
  CHECK(home.lines[0].find("driver 1.2") != std::string::npos);
  CHECK(home.lines[0].find("driver 1.3") != std::string::npos);
  CHECK(home.lines[0].find("`puna tune`") != std::string::npos);
  CHECK(service::stored_profile(some_device()));  // the file is still there
}

TEST_CASE("a damaged profile is passed over with one line") {
  Home home;
  REQUIRE(service::store_profile(some_device(), some_profile()));
  const std::string path = *service::profile_path(kernels::ProfileKey::of(some_device()));
  for (const char* text : {"", "{", "[]", "{\"puna_profile\": 99}"}) {
    home.lines.clear();
    std::ofstream(path) << text;
    CHECK(!service::stored_profile(some_device()));
    CHECK(home.lines.size() == 1);
  }
}
