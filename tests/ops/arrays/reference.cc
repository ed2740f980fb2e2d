#include "tests/ops/arrays/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/half.h"

namespace weir {

namespace {

std::uint64_t Mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t RandomBits(int rank, std::size_t i, std::uint32_t salt) {
  return Mix(Mix(i + (std::uint64_t{salt} << 40)) + static_cast<std::uint64_t>(rank));
}

/// In [-8, 8), with 24 significant bits.
float RandomFloat(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) * 0x1p-20f;
}

template <typename T>
void Store(std::byte* array, std::size_t i, T value) {
  std::memcpy(array + i * sizeof(T), &value, sizeof(T));
}

template <typename T>
T Load(const std::vector<std::byte>& array, std::size_t i) {
  T value;
  std::memcpy(&value, array.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename Float>
Float CombineFloats(ReduceOp op, Float a, Float b) {
  switch (op) {
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
    default:
      return a + b;
  }
}

template <typename Float>
Float ReduceFloats(const Reduction& reduction, const std::vector<Float>& values) {
  const auto pre = static_cast<Float>(reduction.prescale);
  Float sum = values[0] * pre;
  for (std::size_t r = 1; r < values.size(); ++r) {
    const Float next = values[r] * pre;
    sum = CombineFloats(reduction.op, sum, next);
  }
  sum *= static_cast<Float>(reduction.postscale);
  return reduction.op == ReduceOp::kAverage ? sum / static_cast<Float>(values.size()) : sum;
}

template <typename T>
T TruncateTo(double value) {
  value = std::trunc(value);
  const double min = static_cast<double>(std::numeric_limits<T>::min());
  const double max = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= min) return std::numeric_limits<T>::min();
  if (value >= max) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <typename T>
T ReduceIntegers(const Reduction& reduction, const std::vector<T>& values) {
  const auto scaled = [&](T value) -> std::int64_t {
    if (reduction.prescale == 1.0) return value;
    return TruncateTo<T>(static_cast<double>(value) * reduction.prescale);
  };
  std::int64_t sum = scaled(values[0]);
  for (std::size_t r = 1; r < values.size(); ++r) {
    const std::int64_t next = scaled(values[r]);
    const auto a = static_cast<std::uint64_t>(sum);
    const auto b = static_cast<std::uint64_t>(next);
    switch (reduction.op) {
      case ReduceOp::kMin:
        sum = std::min(sum, next);
        break;
      case ReduceOp::kMax:
        sum = std::max(sum, next);
        break;
      case ReduceOp::kProduct:
        sum = static_cast<std::int64_t>(a * b);
        break;
      default:
        sum = static_cast<std::int64_t>(a + b);
    }
  }
  const auto divisor =
      reduction.op == ReduceOp::kAverage ? static_cast<std::int64_t>(values.size()) : 1;
  if (reduction.postscale == 1.0) return static_cast<T>(sum / divisor);
  return TruncateTo<T>(static_cast<double>(sum) * reduction.postscale /
                       static_cast<double>(divisor));
}

std::uint8_t ReduceBools(ReduceOp op, const std::vector<std::uint8_t>& values) {
  const auto ones = std::ranges::count(values, 1);
  const bool is_or = op == ReduceOp::kSum || op == ReduceOp::kMax;
  return is_or ? ones > 0 : ones == static_cast<std::ptrdiff_t>(values.size());
}

/// Calls reduce(values of all ranks) for each element and stores what it returns.
template <typename T, typename Reduce>
std::vector<std::byte> ForEachColumn(const TestArrays& arrays, const Reduce& reduce) {
  std::vector<std::byte> out(arrays.front().size());
  std::vector<T> column(arrays.size());
  for (std::size_t i = 0; i < out.size() / sizeof(T); ++i) {
    std::ranges::transform(arrays, column.begin(),
                           [i](const auto& array) { return Load<T>(array, i); });
    Store<T>(out.data(), i, reduce(column));
  }
  return out;
}

/// Through `decode` and `encode`, so that the sums are made in fp32.
template <typename Decode, typename Encode>
std::vector<std::byte> ForEachHalfColumn(const Reduction& reduction, const TestArrays& arrays,
                                         Decode decode, Encode encode) {
  std::vector<float> floats(arrays.size());
  return ForEachColumn<std::uint16_t>(arrays, [&](const std::vector<std::uint16_t>& column) {
    std::ranges::transform(column, floats.begin(), decode);
    return encode(ReduceFloats<float>(reduction, floats));
  });
}

}  // namespace

std::vector<std::byte> ReferenceReduce(DType dtype, const Reduction& reduction,
                                       const TestArrays& arrays) {
  const auto floats = [&](const auto& column) { return ReduceFloats(reduction, column); };
  const auto integers = [&](const auto& column) { return ReduceIntegers(reduction, column); };
  switch (dtype) {
    case DType::kFloat32:
      return ForEachColumn<float>(arrays, floats);
    case DType::kFloat64:
      return ForEachColumn<double>(arrays, floats);
    case DType::kFloat16:
      return ForEachHalfColumn(reduction, arrays, HalfToFloat, FloatToHalf);
    case DType::kBFloat16:
      return ForEachHalfColumn(reduction, arrays, BFloat16ToFloat, FloatToBFloat16);
    case DType::kUInt8:
      return ForEachColumn<std::uint8_t>(arrays, integers);
    case DType::kInt8:
      return ForEachColumn<std::int8_t>(arrays, integers);
    case DType::kInt16:
      return ForEachColumn<std::int16_t>(arrays, integers);
    case DType::kInt32:
      return ForEachColumn<std::int32_t>(arrays, integers);
    case DType::kInt64:
      return ForEachColumn<std::int64_t>(arrays, integers);
    case DType::kBool:
      return ForEachColumn<std::uint8_t>(
          arrays, [&](const auto& column) { return ReduceBools(reduction.op, column); });
  }
  return {};
}

std::vector<std::byte> TestValues(DType dtype, std::size_t elements, int rank, std::uint32_t salt) {
  const std::size_t size = SizeOf(dtype);
  std::vector<std::byte> values(elements * size);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = RandomBits(rank, i, salt);
    switch (dtype) {
      case DType::kFloat32:
        Store(values.data(), i, RandomFloat(bits));
        break;
      case DType::kFloat64:
        Store(values.data(), i, static_cast<double>(RandomFloat(bits)) * (1.0 + 0x1p-40));
        break;
      case DType::kFloat16:
        Store(values.data(), i, FloatToHalf(RandomFloat(bits)));
        break;
      case DType::kBFloat16:
        Store(values.data(), i, FloatToBFloat16(RandomFloat(bits)));
        break;
      case DType::kBool:
        Store(values.data(), i, static_cast<std::uint8_t>(bits & 1));
        break;
      default:
        std::memcpy(values.data() + i * size, &bits, size);
    }
  }
  return values;
}

std::vector<std::byte> ReferenceAllreduce(DType dtype, const Reduction& reduction,
                                          std::size_t elements, int ranks, std::uint32_t salt) {
  TestArrays arrays;
  for (int rank = 0; rank < ranks; ++rank) {
    arrays.push_back(TestValues(dtype, elements, rank, salt));
  }
  return ReferenceReduce(dtype, reduction, arrays);
}

std::vector<DType> AllDTypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

std::vector<ReduceOp> OpsOf(DType dtype) {
  std::vector<ReduceOp> ops = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct};
  if (dtype != DType::kBool) ops.push_back(ReduceOp::kAverage);
  return ops;
}

}  // namespace weir
