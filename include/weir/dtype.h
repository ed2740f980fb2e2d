#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

/// Element types that can be exchanged.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,   ///< IEEE 754 binary16.
  kBFloat16,  ///< The upper half of a binary32.
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kBool,  ///< One byte, 0 or 1.
};

inline constexpr int kDTypeCount = 10;

/// Bytes of one element.
std::size_t SizeOf(DType dtype);

/// "float32", "bfloat16", "int8", "bool", ...
std::string_view Name(DType dtype);

bool IsFloatingPoint(DType dtype);

/// The operation that combines the ranks' values. The numbers are Horovod's.
///
/// On bool: kSum and kMax are "or", kProduct and kMin are "and", kAverage is `InvalidArgument`.
/// Integer kAverage truncates toward zero. fp16 and bf16 are combined in fp32 and rounded once.
/// kAdasum combines whole arrays (ops/collectives/adasum.h): an all-reduce of floating-point types
/// alone.
enum class ReduceOp : std::uint8_t {
  kAverage = 0,
  kSum = 1,
  kAdasum = 2,
  kMin = 3,
  kMax = 4,
  kProduct = 5
};

/// "average", "sum", "adasum", "min", "max", "product".
std::string_view Name(ReduceOp op);

}  // namespace weir
