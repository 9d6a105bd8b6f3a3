#include "kernels/selftest/selftest.h"

namespace puna::kernels {

using base::Result;

Result<std::vector<SelftestResult>> selftest(CheckedDevice device, const SelftestOptions& options) {
  std::vector<SelftestResult> results;
  const auto wanted = [&](std::string_view role, std::string_view type) {
    return role.contains(options.filter) || type.contains(options.filter);
  };
  const auto record = [&](std::string role, std::string type, std::string shape, double error,
                          double limit) -> Result<void> {
    results.push_back({std::move(role), std::move(type), std::move(shape), error, limit});
    if (options.on_result) options.on_result(results.back());
    if (options.cancel && options.cancel->load())
      return base::fail(base::ErrorCode::kCancelled, "The self-test was interrupted.");
    return {};
  };
  Check check(device, wanted, record);
  PUNA_TRY(check_all(check));
  return results;
}

}  // namespace puna::kernels
