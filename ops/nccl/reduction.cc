#include "ops/nccl/reduction.h"

#include "common/check.h"

namespace weir::nccl {
namespace {

bool IsScaled(const Reduction& reduction) {
  return reduction.prescale != 1.0 || reduction.postscale != 1.0;
}

DataType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return DataType::kFloat32;
    case DType::kFloat64:
      return DataType::kFloat64;
    case DType::kFloat16:
      return DataType::kFloat16;
    case DType::kBFloat16:
      return DataType::kBFloat16;
    case DType::kUInt8:
    case DType::kBool:
      return DataType::kUint8;
    case DType::kInt8:
      return DataType::kInt8;
    case DType::kInt32:
      return DataType::kInt32;
    case DType::kInt64:
      return DataType::kInt64;
    case DType::kInt16:
      break;
  }
  WEIR_CHECK(false);
  return DataType::kUint8;
}

RedOp OperatorOf(DType dtype, ReduceOp op) {
  const bool is_bool = dtype == DType::kBool;
  switch (op) {
    case ReduceOp::kSum:
      return is_bool ? kMax : kSum;  // "or"
    case ReduceOp::kProduct:
      return is_bool ? kMin : kProduct;  // "and"
    case ReduceOp::kMin:
      return kMin;
    case ReduceOp::kMax:
      return kMax;
    case ReduceOp::kAverage:
      return kAverage;
    case ReduceOp::kAdasum:
      break;
  }
  WEIR_CHECK(false);
  return kSum;
}

}  // namespace

bool Suits(DType dtype, const Reduction& reduction) {
  if (dtype == DType::kInt16) return false;
  const bool adds = reduction.op == ReduceOp::kSum || reduction.op == ReduceOp::kAverage;
  if (IsFloatingPoint(dtype)) {
    return adds || (reduction.op == ReduceOp::kProduct && !IsScaled(reduction));
  }
  return reduction.op != ReduceOp::kAverage && reduction.op != ReduceOp::kAdasum &&
         !IsScaled(reduction);
}

NativeReduction NativeOf(DType dtype, const Reduction& reduction, int ranks) {
  WEIR_CHECK(Suits(dtype, reduction));
  NativeReduction native{TypeOf(dtype), OperatorOf(dtype, reduction.op), std::nullopt};
  if (!IsScaled(reduction)) return native;
  native.op = kSum;
  native.factor = reduction.prescale * reduction.postscale;
  if (reduction.op == ReduceOp::kAverage) *native.factor /= ranks;
  return native;
}

}  // namespace weir::nccl
