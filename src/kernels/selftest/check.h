// Check: what the self-test lends to the check of a role, <role>/<role>_check.cpp: a device, which
// cases are wanted, and where results go. checks.h lists the roles.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gpu/device.h"
#include "kernels/selftest/checks.h"

namespace puna::kernels {

// What is checked: a GPU, or without one the CPU with the threads of the pool.
struct CheckedDevice {
  base::ThreadPool& pool;
  gpu::Device* gpu = nullptr;
};

class Check {
 public:
  // Whether to run cases of this role and type.
  using Wanted = std::function<bool(std::string_view role, std::string_view type)>;
  // Told of each case: a role, its type (of weights, of the cache, or an option), a shape, the
  // error and its limit. A failure ends the check.
  using Record = std::function<base::Result<void>(std::string role, std::string type,
                                                  std::string shape, double error, double limit)>;

  Check(CheckedDevice device, Wanted wanted, Record record)
      : device_(device), wanted_(std::move(wanted)), record_(std::move(record)) {}

  base::ThreadPool& pool() const { return device_.pool; }
  gpu::Device* gpu() const { return device_.gpu; }  // null: the check runs on the CPU

  bool wanted(std::string_view role, std::string_view type) const { return wanted_(role, type); }
  base::Result<void> record(std::string_view role, std::string_view type, std::string shape,
                            double error, double limit) {
    return record_(std::string(role), std::string(type), std::move(shape), error, limit);
  }

 private:
  CheckedDevice device_;
  Wanted wanted_;
  Record record_;
};

}  // namespace puna::kernels
