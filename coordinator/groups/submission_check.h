#pragma once

#include <cstddef>
#include <span>

#include "weir/gradient_group.h"
#include "weir/tensor.h"

namespace weir {

/// Throws InvalidArgument for values that a step cannot have. `rates` are info's, or zeros;
/// `on_gpu`: kernels compress some of the gradients.
void CheckStepInfo(const GradientGroupSpec& spec, std::span<const float> rates,
                   const StepInfo& info, std::size_t parameter_groups, bool on_gpu);

/// Throws InvalidArgument for a gradient that is not as it was registered, or that comes when no
/// step is open (`in_step`). `rank` submits it.
void CheckSubmission(const GradientGroupSpec& spec, int rank, bool in_step, std::size_t index,
                     const ConstTensorView& gradient, const TensorView& update);

}  // namespace weir
