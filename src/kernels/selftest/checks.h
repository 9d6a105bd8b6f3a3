// The roles that the self-test checks, in order. A new role is a line here and its
// <role>/<role>_check.cpp, which defines check_<role>(): every case on a device against the plain
// reference.
#pragma once

#include "base/result.h"

#define PUNA_CHECKED_ROLES(X) \
  X(embed)                    \
  X(matmul)                   \
  X(moe)                      \
  X(norm)                     \
  X(norm_parts)               \
  X(rope)                     \
  X(attention)                \
  X(elementwise)              \
  X(group_norm)               \
  X(conv)                     \
  X(ssd)                      \
  X(scan)                     \
  X(delta)                    \
  X(shift)                    \
  X(wkv)                      \
  X(sample)                   \
  X(unary)                    \
  X(binary)                   \
  X(copy)                     \
  X(rows)                     \
  X(reduce)                   \
  X(softmax)                  \
  X(sort)                     \
  X(conv2d)                   \
  X(image)                    \
  X(hadamard)                 \
  X(mrope)                    \
  X(own_conv)                 \
  X(local_attention)

namespace puna::kernels {

class Check;

// Errors: what the device refuses, and of Check::record().
#define PUNA_DECLARE_CHECK(role) base::Result<void> check_##role(Check& check);
PUNA_CHECKED_ROLES(PUNA_DECLARE_CHECK)
#undef PUNA_DECLARE_CHECK

// All of them.
base::Result<void> check_all(Check& check);

}  // namespace puna::kernels
