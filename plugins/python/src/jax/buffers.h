#pragma once

#include <xla/ffi/api/ffi.h>

#include <cstddef>

#include "weir/tensor.h"

namespace weir::python {

/// Views of XLA's memory on the CPU. Throw InvalidArgument for element types that the engine does
/// not have, and too many dimensions.
TensorView ViewOf(const xla::ffi::AnyBuffer& buffer);
inline TensorView ViewOf(xla::ffi::Result<xla::ffi::AnyBuffer> buffer) { return ViewOf(*buffer); }

/// Buffer `index` of those that a call has any number of.
xla::ffi::AnyBuffer At(const xla::ffi::RemainingArgs& buffers, std::size_t index);
xla::ffi::AnyBuffer At(const xla::ffi::RemainingRets& buffers, std::size_t index);

}  // namespace weir::python
