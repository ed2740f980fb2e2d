#pragma once

#include <cstddef>

#include "weir/gradient_group.h"
#include "weir/tensor.h"

namespace weir {

/// Throws InvalidArgument for a gradient that is not as it was registered, or that comes when no
/// step is open (`in_step`). `rank` submits it.
void CheckSubmission(const GradientGroupSpec& spec, int rank, bool in_step, std::size_t index,
                     const ConstTensorView& gradient, const TensorView& update);

}  // namespace weir
