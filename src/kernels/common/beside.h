// Several dispatches as one, whose workgroups run side by side, for calls that do not read what the
// others write: products of one x with weights of different types, say. A dispatch of its own waits
// for the one before to end, and a small one leaves most of a GPU idle meanwhile.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/common/call.h"

namespace puna::kernels {

// Both calls in one: `second` in the workgroups behind those of `first` along x of the grid. None
// where that cannot be: they must be of one template and one size (define WG), have a constant
// number of workgroups along x, one along y and the same along z, and bind no more buffers together
// than every device takes. `first` may be of several already.
std::optional<KernelCall> beside(const gpu::DeviceInfo& device, const KernelCall& first,
                                 const KernelCall& second);

// The text of such a call from the expanded texts of its parts, in order. What they declare alike
// is declared once, so that workgroup memory is that of one. Errors: kInternal where they bind one
// buffer as different types, or a text has no entry point `main`.
base::Result<std::string> join(const KernelCall& call, std::span<const std::string> texts);

}  // namespace puna::kernels
