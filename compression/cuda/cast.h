#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weir/dtype.h"

namespace weir::cuda {

/// GpuApi::to_half and GpuApi::from_half.
std::string ToHalf(const float* values, std::uint16_t* halves, std::size_t n, DType half,
                   void* stream);
std::string FromHalf(const std::uint16_t* halves, float* values, std::size_t n, DType half,
                     void* stream);

}  // namespace weir::cuda
