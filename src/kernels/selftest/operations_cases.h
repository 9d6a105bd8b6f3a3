// Cases of the single operations against their plain forms: the self-test runs all, a role's tests
// run its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/selftest/operations.h"

namespace puna::kernels {

class OperationCases {
 public:
  // Told of each case: a role, its type (a name or an option), a shape, the error and its limit. A
  // failure ends the cases.
  using Record = std::function<base::Result<void>(std::string_view role, std::string_view type,
                                                  std::string shape, double nmse, double limit)>;
  // Whether to run cases of this role and type.
  using Wanted = std::function<bool(std::string_view role, std::string_view type)>;

  OperationCases(Operations& device, Wanted wanted, Record record)
      : device_(device), wanted_(std::move(wanted)), record_(std::move(record)) {}

  // Errors: what the device refuses, and of record.
  base::Result<void> run();

 private:
  base::Result<void> unary();
  base::Result<void> binary();
  base::Result<void> copy();
  base::Result<void> move_rows();
  base::Result<void> reduce();
  base::Result<void> softmax();
  base::Result<void> sort();
  base::Result<void> convolutions();
  base::Result<void> images();
  base::Result<void> hadamard();
  base::Result<void> mrope();

  base::Result<void> unary(Unary function, uint32_t n);
  base::Result<void> copy(std::string_view what, const CopyShape& shape);
  base::Result<void> im2col(std::string_view what, const Conv2dShape& shape);
  base::Result<void> depthwise(std::string_view what, const Conv2dShape& shape);
  base::Result<void> resize(const ResizeShape& shape);
  base::Result<void> pad(const PadShape& shape);

  Operations& device_;
  Wanted wanted_;
  Record record_;
};

}  // namespace puna::kernels
