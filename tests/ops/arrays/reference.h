#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/arrays/reduce.h"
#include "weir/dtype.h"

namespace weir {

/// Returns the bytes of rank `rank`'s array in tests: a fixed pseudo-random function of rank, index
/// and `salt`. Floats are small and of both signs; integers use their whole range.
std::vector<std::byte> TestValues(DType dtype, std::size_t elements, int rank, std::uint32_t salt);

/// Every rank's array, in bytes.
using TestArrays = std::vector<std::vector<std::byte>>;

/// Combines the arrays in their order, one element at a time.
std::vector<std::byte> ReferenceReduce(DType dtype, const Reduction& reduction,
                                       const TestArrays& arrays);

/// Returns the result of an all-reduce of TestValues, computed one element at a time.
std::vector<std::byte> ReferenceAllreduce(DType dtype, const Reduction& reduction,
                                          std::size_t elements, int ranks, std::uint32_t salt);

/// All types, and the operations that a type has.
std::vector<DType> AllDTypes();
std::vector<ReduceOp> OpsOf(DType dtype);

}  // namespace weir
