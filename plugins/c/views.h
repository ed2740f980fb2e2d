#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "weir/dtype.h"
#include "weir/tensor.h"
#include "weir/weir.h"

namespace weir::c {

/// Throw InvalidArgument for numbers that the header does not have.
DType DTypeOf(std::int32_t dtype);
ReduceOp OpOf(std::int32_t op);
Shape ShapeOf(const std::int64_t* shape, std::int32_t dimensions);
/// `what`: the array's name in the header.
TensorView ViewOf(const weir_array* array, const char* what);
AllocateOutput AllocatorOf(weir_allocate allocate, void* context);

/// Returns a structure of the caller, who may know fewer members, or more, than this library;
/// `defaults` for a null one.
template <typename T>
T Known(const T* given, const T& defaults) {
  T known = defaults;
  if (given != nullptr) std::memcpy(&known, given, std::min(given->size, sizeof(T)));
  return known;
}

}  // namespace weir::c
