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
[[noreturn]] void ThrowSize(std::size_t size);
/// Throws InvalidArgument for a value where there is none yet.
void NeedZero(std::int32_t reserved);

/// Size of a structure in the first version of weir.h.
template <typename T>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<weir_reduce_options> = 40;
template <>
inline constexpr std::size_t kFirstSize<weir_gradients_options> = 64;
template <>
inline constexpr std::size_t kFirstSize<weir_step> = 64;
template <>
inline constexpr std::size_t kFirstSize<weir_step_report> = 72;

/// Returns how much of a structure the caller knows, who may have an older header or a newer one.
/// Throws InvalidArgument for a size that no header has.
template <typename T>
std::size_t KnownBytes(const T& given) {
  static_assert(sizeof(T) >= kFirstSize<T> && kFirstSize<T> > 0);
  if (given.size < kFirstSize<T>) ThrowSize(given.size);
  return std::min(given.size, sizeof(T));
}
/// Returns a structure of the caller, with defaults for what it does not know; all of them for
/// null.
template <typename T>
T Known(const T* given, const T& defaults) {
  T known = defaults;
  if (given != nullptr) std::memcpy(&known, given, KnownBytes(*given));
  return known;
}

}  // namespace weir::c
