#pragma once

#include <cstddef>
#include <span>

#include "weir/dtype.h"

namespace weir {

/// Divides an array into parts of about the same length, each of which starts at a multiple of 64
/// bytes: their borders, in elements, one more than there are parts. The last parts may be empty.
void AlignedParts(std::size_t elements, DType dtype, std::span<std::size_t> offsets);

}  // namespace weir
