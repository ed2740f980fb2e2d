#pragma once

#include <cstddef>

#include "weir/gradient_group.h"
#include "weir/tensor.h"

namespace weir {

/// Throws InvalidArgument for a gradient that is not as it was registered, or comes when no step is
/// open (`in_step`). `rank`: who submits.
void CheckSubmission(const GradientGroupSpec& spec, int rank, bool in_step, std::size_t index,
                     const ConstTensorView& gradient, const TensorView& update);

}  // namespace weir
