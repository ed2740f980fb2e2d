// The loops of ops/arrays/reduce.cc, included once per instruction set.
#if defined(WEIR_OPS_REDUCE_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_OPS_REDUCE_KERNELS_INL_H_
#undef WEIR_OPS_REDUCE_KERNELS_INL_H_
#else
#define WEIR_OPS_REDUCE_KERNELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "common/half.h"
#include "ops/arrays/reduce.h"
#include "weir/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Boolean {
  std::uint8_t value;
};

/// The type in which values of type T are combined.
template <typename T>
struct AccumulatorOf {
  using Type = T;
};
template <>
struct AccumulatorOf<Half> {
  using Type = float;
};
template <>
struct AccumulatorOf<BFloat16> {
  using Type = float;
};
template <>
struct AccumulatorOf<Boolean> {
  using Type = std::uint8_t;
};
template <>
struct AccumulatorOf<std::uint8_t> {
  using Type = std::int64_t;
};
template <>
struct AccumulatorOf<std::int8_t> {
  using Type = std::int64_t;
};
template <>
struct AccumulatorOf<std::int16_t> {
  using Type = std::int64_t;
};
template <>
struct AccumulatorOf<std::int32_t> {
  using Type = std::int64_t;
};

/// Truncates toward zero, to the nearest limit when out of range, 0 for NaN.
template <typename T>
T Truncate(double value) {
  using Limits = std::numeric_limits<T>;
  // NOLINTNEXTLINE(bugprone-integer-division): half of a power of two is exact.
  constexpr double kBeyondMax = 2.0 * static_cast<double>(Limits::max() / 2 + 1);
  if (value != value) return 0;
  if (value >= kBeyondMax) return Limits::max();
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<T>(value);
}

template <typename T, typename Acc>
Acc Widen(T value, double scale, bool scaled) {
  if constexpr (std::is_same_v<T, Half>) {
    return HalfToFloat(value.bits) * static_cast<float>(scale);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16ToFloat(value.bits) * static_cast<float>(scale);
  } else if constexpr (std::is_same_v<T, Boolean>) {
    return value.value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return value * static_cast<T>(scale);
  } else {
    return scaled ? Truncate<T>(static_cast<double>(value) * scale) : value;
  }
}

template <typename T, typename Acc>
T Narrow(Acc value, double scale, bool scaled, int divisor) {
  if constexpr (std::is_same_v<T, Half>) {
    return {FloatToHalf(value * static_cast<float>(scale) / static_cast<float>(divisor))};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return {FloatToBFloat16(value * static_cast<float>(scale) / static_cast<float>(divisor))};
  } else if constexpr (std::is_same_v<T, Boolean>) {
    return {value};
  } else if constexpr (std::is_floating_point_v<T>) {
    return value * static_cast<T>(scale) / static_cast<T>(divisor);
  } else {
    return scaled ? Truncate<T>(static_cast<double>(value) * scale / divisor)
                  : static_cast<T>(value / divisor);
  }
}

struct AddValues {
  template <typename Acc>
  static Acc Apply(Acc a, Acc b) {
    if constexpr (std::is_floating_point_v<Acc>) {
      return a + b;
    } else {
      using Unsigned = std::make_unsigned_t<Acc>;  // integers wrap
      return static_cast<Acc>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    }
  }
};

struct MultiplyValues {
  template <typename Acc>
  static Acc Apply(Acc a, Acc b) {
    if constexpr (std::is_floating_point_v<Acc>) {
      return a * b;
    } else {
      using Unsigned = std::make_unsigned_t<Acc>;
      return static_cast<Acc>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    }
  }
};

// Written so that a NaN on either side comes through.
struct MinValues {
  template <typename Acc>
  static Acc Apply(Acc a, Acc b) {
    return (a < b || a != a) ? a : b;
  }
};

struct MaxValues {
  template <typename Acc>
  static Acc Apply(Acc a, Acc b) {
    return (a > b || a != a) ? a : b;
  }
};

// In all loops below an output may be the same memory as an input, at the same index. No iteration
// depends on another one, which the compiler cannot know.

template <typename Op, typename Acc>
void Combine(const Acc* a, const Acc* b, std::size_t n, Acc* out) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = Op::template Apply<Acc>(a[i], b[i]);
}

template <typename T, typename Acc, bool kScaled>
void WidenAll(const T* in, double scale, std::size_t n, Acc* out) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = Widen<T, Acc>(in[i], scale, kScaled);
}

template <typename T, typename Acc, bool kScaled>
void NarrowAll(const Acc* in, double scale, int divisor, std::size_t n, T* out) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = Narrow<T, Acc>(in[i], scale, kScaled, divisor);
}

/// Elements that are combined over all ranks before the next ones, so that intermediate values
/// stay in the first-level cache.
inline constexpr std::size_t kBlock = 1024;

template <typename T, typename Op>
class Reducer {
 public:
  using Acc = typename AccumulatorOf<T>::Type;
  static constexpr bool kSameType = std::is_same_v<T, Acc>;

  Reducer(const Reduction& reduction, std::size_t ranks)
      : prescale_(reduction.prescale),
        postscale_(reduction.postscale),
        divisor_(reduction.op == ReduceOp::kAverage ? static_cast<int>(ranks) : 1) {}

  void Block(std::span<const std::byte* const> sources, std::size_t begin, std::size_t n,
             std::byte* out_bytes) {
    T* out = reinterpret_cast<T*>(out_bytes) + begin;
    const Acc* sum = Read(sources[0], begin, n, sum_);
    for (std::size_t rank = 1; rank < sources.size(); ++rank) {
      const Acc* next = Read(sources[rank], begin, n, next_);
      Acc* to = sum_;
      if constexpr (kSameType) {
        if (rank + 1 == sources.size() && !finishing()) to = out;
      }
      Combine<Op>(sum, next, n, to);
      sum = to;
    }
    Write(sum, n, out);
  }

 private:
  bool finishing() const { return postscale_ != 1.0 || divisor_ != 1; }

  const Acc* Read(const std::byte* source, std::size_t begin, std::size_t n, Acc* buffer) const {
    const T* in = reinterpret_cast<const T*>(source) + begin;
    if (prescale_ != 1.0) {
      WidenAll<T, Acc, true>(in, prescale_, n, buffer);
      return buffer;
    }
    if constexpr (kSameType) {
      return in;
    } else {
      WidenAll<T, Acc, false>(in, 1.0, n, buffer);
      return buffer;
    }
  }

  void Write(const Acc* sum, std::size_t n, T* out) const {
    if constexpr (kSameType) {
      if (!finishing()) {
        if (sum != out) std::memmove(out, sum, n * sizeof(T));
        return;
      }
    }
    if (postscale_ != 1.0) {
      NarrowAll<T, Acc, true>(sum, postscale_, divisor_, n, out);
    } else {
      NarrowAll<T, Acc, false>(sum, 1.0, divisor_, n, out);
    }
  }

  double prescale_;
  double postscale_;
  int divisor_;
  alignas(64) Acc sum_[kBlock];
  alignas(64) Acc next_[kBlock];
};

template <typename T, typename Op>
void ReduceAll(const Reduction& reduction, std::span<const std::byte* const> sources,
               std::size_t ranks, std::size_t elements, std::byte* out) {
  Reducer<T, Op> reducer(reduction, ranks);
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    reducer.Block(sources, begin, std::min(kBlock, elements - begin), out);
  }
}

template <typename T>
void ReduceType(const Reduction& reduction, std::span<const std::byte* const> sources,
                std::size_t ranks, std::size_t elements, std::byte* out) {
  constexpr bool kIsBool = std::is_same_v<T, Boolean>;
  switch (reduction.op) {
    case ReduceOp::kAverage:
    case ReduceOp::kSum:
      using Or = std::conditional_t<kIsBool, MaxValues, AddValues>;
      return ReduceAll<T, Or>(reduction, sources, ranks, elements, out);
    case ReduceOp::kAdasum:
      break;  // Not entry by entry; CheckReduction refuses it.
    case ReduceOp::kMin:
      return ReduceAll<T, MinValues>(reduction, sources, ranks, elements, out);
    case ReduceOp::kMax:
      return ReduceAll<T, MaxValues>(reduction, sources, ranks, elements, out);
    case ReduceOp::kProduct:
      using And = std::conditional_t<kIsBool, MinValues, MultiplyValues>;
      return ReduceAll<T, And>(reduction, sources, ranks, elements, out);
  }
}

void ReduceAnyType(DType dtype, const Reduction& reduction,
                   std::span<const std::byte* const> sources, std::size_t ranks,
                   std::size_t elements, std::byte* out) {
  switch (dtype) {
    case DType::kFloat32:
      return ReduceType<float>(reduction, sources, ranks, elements, out);
    case DType::kFloat64:
      return ReduceType<double>(reduction, sources, ranks, elements, out);
    case DType::kFloat16:
      return ReduceType<Half>(reduction, sources, ranks, elements, out);
    case DType::kBFloat16:
      return ReduceType<BFloat16>(reduction, sources, ranks, elements, out);
    case DType::kUInt8:
      return ReduceType<std::uint8_t>(reduction, sources, ranks, elements, out);
    case DType::kInt8:
      return ReduceType<std::int8_t>(reduction, sources, ranks, elements, out);
    case DType::kInt16:
      return ReduceType<std::int16_t>(reduction, sources, ranks, elements, out);
    case DType::kInt32:
      return ReduceType<std::int32_t>(reduction, sources, ranks, elements, out);
    case DType::kInt64:
      return ReduceType<std::int64_t>(reduction, sources, ranks, elements, out);
    case DType::kBool:
      return ReduceType<Boolean>(reduction, sources, ranks, elements, out);
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEIR_OPS_REDUCE_KERNELS_INL_H_
