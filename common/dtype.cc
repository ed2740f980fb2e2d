#include "weir/dtype.h"

#include <array>

#include "common/check.h"

namespace weir {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::size_t size;
  bool floating;
};

constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{{"float32", 4, true},
                                                       {"float64", 8, true},
                                                       {"float16", 2, true},
                                                       {"bfloat16", 2, true},
                                                       {"uint8", 1, false},
                                                       {"int8", 1, false},
                                                       {"int16", 2, false},
                                                       {"int32", 4, false},
                                                       {"int64", 8, false},
                                                       {"bool", 1, false}}};

const DTypeInfo& Info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  WEIR_CHECK(index < kInfo.size());
  return kInfo[index];
}

}  // namespace

std::size_t SizeOf(DType dtype) { return Info(dtype).size; }
std::string_view Name(DType dtype) { return Info(dtype).name; }
bool IsFloatingPoint(DType dtype) { return Info(dtype).floating; }

std::string_view Name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage:
      return "average";
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kAdasum:
      return "adasum";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kProduct:
      return "product";
  }
  WEIR_CHECK(false);
  return "";
}

}  // namespace weir
