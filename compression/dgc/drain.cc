#include "compression/dgc/drain.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "common/check.h"
#include "compression/codecs/cast.h"
#include "compression/codecs/int8.h"

namespace weir {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 16;  // Entries that a thread takes at a time.

struct Arrays {
  const float* gradient;
  float* u;
  float* v;
};

template <Momentum kMomentum, bool kEmpty>
std::uint32_t Advance(const DrainStep& step, const Arrays& arrays, std::size_t begin,
                      std::size_t end) {
  constexpr bool kHasU = kMomentum != Momentum::kNone;
  constexpr bool kInU = kMomentum == Momentum::kVanilla && kEmpty;
  std::uint32_t non_finite = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const float g = FiniteOrZero(arrays.gradient[i] * step.gradient_scale, non_finite);
    float u = kHasU ? arrays.u[i] : 0.0f;
    float sum = AdvanceMomentum(kMomentum, step.m, g, u);
    if constexpr (kHasU) arrays.u[i] = FiniteOrZero(u, non_finite);
    if constexpr (!kEmpty) sum += arrays.v[i];
    if constexpr (!kInU) arrays.v[i] = FiniteOrZero(sum, non_finite);
  }
  return non_finite;
}

using Function = std::uint32_t (*)(const DrainStep&, const Arrays&, std::size_t, std::size_t);

template <bool kEmpty>
Function FunctionOf(Momentum momentum) {
  switch (momentum) {
    case Momentum::kVanilla:
      return Advance<Momentum::kVanilla, kEmpty>;
    case Momentum::kNesterov:
      return Advance<Momentum::kNesterov, kEmpty>;
    case Momentum::kNone:
      break;
  }
  return Advance<Momentum::kNone, kEmpty>;
}

}  // namespace

std::uint64_t AdvanceAll(const DrainStep& step, std::span<const float> gradient, std::span<float> u,
                         std::span<float> v, ThreadPool* pool) {
  WEIR_CHECK(gradient.size() == v.size());
  WEIR_CHECK(u.size() == (step.momentum == Momentum::kNone ? 0 : v.size()));
  const Function advance =
      step.v_is_empty ? FunctionOf<true>(step.momentum) : FunctionOf<false>(step.momentum);
  const Arrays arrays{gradient.data(), u.data(), v.data()};
  const std::size_t n = v.size();
  if (pool == nullptr || n <= kPart) return advance(step, arrays, 0, n);
  std::atomic<std::uint64_t> non_finite = 0;
  pool->ParallelFor(static_cast<int>((n + kPart - 1) / kPart), [&](int part) {
    const std::size_t begin = static_cast<std::size_t>(part) * kPart;
    non_finite += advance(step, arrays, begin, std::min(begin + kPart, n));
  });
  return non_finite;
}

void KeepRest(DType type, std::span<float> values) {
  const CastCodec halves(DType::kFloat16);
  const Int8Codec levels;
  WEIR_CHECK(type == DType::kFloat16 || type == DType::kInt8);
  const Codec& codec = type == DType::kInt8 ? static_cast<const Codec&>(levels) : halves;
  constexpr std::size_t kBlock = 2 * Int8Codec::kBlock;
  std::array<std::byte, kBlock * 2> rounded;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    const std::size_t bytes = codec.Encode({}, block, rounded);
    codec.Subtract(std::span(rounded).first(bytes), block);
  }
}

}  // namespace weir
