#pragma once

#include <span>

#include "weir/dtype.h"

namespace weir {

/// Converts gradients to and from fp32, in which work is done. `data` holds values.size() elements
/// of a floating-point `dtype`; fp64 is rounded to nearest. Throws InvalidArgument for other types.
void ConvertToFloat(const void* data, DType dtype, std::span<float> values);
void ConvertFromFloat(std::span<const float> values, DType dtype, void* data);

}  // namespace weir
