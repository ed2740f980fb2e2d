#include "compression/cpu/sign_bits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

// Compiled once for each instruction set, without the scalable vectors,
// which cannot be kept in an array.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/cpu/sign_bits.cc"
#include "common/check.h"
#include "compression/memory/finite.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kWord = 32;  // Signs in a word.

/// The signs of one vector as bits 0 to Lanes - 1.
template <class D>
HWY_INLINE std::uint32_t BitsBelowZero(D d, hn::Vec<D> values) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, hn::Lt(values, hn::Zero(d)), bytes);
  if constexpr (hn::MaxLanes(d) <= 8) return bytes[0];
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

constexpr std::size_t kSums = 8;

#if HWY_TARGET == HWY_SCALAR  // Has no halves of vectors.
template <class Wide, class Floats, std::size_t kVectors>
HWY_INLINE void AddFloats(Wide wide, const Floats (&floats)[kVectors],
                          hn::Vec<Wide> (&sums)[kSums]) {
  for (std::size_t v = 0; v < kSums; ++v) {
    sums[v] = hn::Add(sums[v], hn::PromoteTo(wide, floats[v]));
  }
}
#else
/// Adds kSums floats, which fill the first vectors, or half of one, to as many doubles.
template <class Wide, class Floats, std::size_t kVectors, std::size_t kWideVectors>
HWY_INLINE void AddFloats(Wide wide, const Floats (&floats)[kVectors],
                          hn::Vec<Wide> (&sums)[kWideVectors]) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::DFromV<Floats>());
  const hn::Half<hn::DFromV<Floats> > half;
  if constexpr (kLanes > kSums) {
    const auto all = hn::Add(hn::LowerHalf(half, floats[0]), hn::UpperHalf(half, floats[0]));
    sums[0] = hn::Add(sums[0], hn::PromoteTo(wide, all));
  } else {
    for (std::size_t v = 0; v < kSums / kLanes; ++v) {
      const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, floats[v]));
      const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, floats[v]));
      sums[2 * v] = hn::Add(sums[2 * v], low);
      sums[2 * v + 1] = hn::Add(sums[2 * v + 1], high);
    }
  }
}
#endif

/// Sum j of a word is (x[j] + x[j + 16]) + (x[j + 8] + x[j + 24]), j below 8, whatever the vector
/// length. Adds it to double number j of `sums`, in their order.
template <class D, class Wide, std::size_t kVectors, std::size_t kWideVectors>
HWY_INLINE void AddWord(D d, hn::Vec<D> (&magnitudes)[kVectors], Wide wide,
                        hn::Vec<Wide> (&sums)[kWideVectors]) {
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  for (std::size_t width = kWord / 2; width >= std::max(kSums, kLanes); width /= 2) {
    for (std::size_t v = 0; v < width / kLanes; ++v) {
      magnitudes[v] = hn::Add(magnitudes[v], magnitudes[v + width / kLanes]);
    }
  }
  AddFloats(wide, magnitudes, sums);
}

/// Packs whole words and the rest of one block. Adds four magnitudes as floats and these sums as
/// doubles, because widening each magnitude takes longer than reading it. `vector` and `entry`
/// return the values from i on, which they may have to put into `values` first.
template <class Vector, class Entry>
HWY_INLINE double PackFrom(const float* values, std::size_t count, std::byte* words, Vector vector,
                           Entry entry) {
  const hn::CappedTag<float, 2 * kSums> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const hn::CappedTag<double, kLanes == 1 ? 1 : kLanes / 2> wide;
  constexpr std::size_t kWideLanes = hn::MaxLanes(wide);
  hn::Vec<decltype(wide)> vectors[kSums / kWideLanes];
  for (auto& sum : vectors) sum = hn::Zero(wide);
  std::size_t i = 0;
  for (; i + kWord <= count; i += kWord) {
    std::uint32_t word = 0;
    hn::Vec<decltype(d)> magnitudes[kWord / kLanes];
    for (std::size_t v = 0; v < kWord / kLanes; ++v) {
      const auto value = vector(d, i + v * kLanes);
      word |= BitsBelowZero(d, value) << (v * kLanes);
      magnitudes[v] = hn::Abs(value);
    }
    std::memcpy(words + i / 8, &word, sizeof word);
    AddWord(d, magnitudes, wide, vectors);
  }
  double sums[kSums];
  for (std::size_t j = 0; j < kSums; j += kWideLanes) {
    hn::StoreU(vectors[j / kWideLanes], wide, sums + j);
  }
  std::uint32_t last = 0;
  for (std::size_t j = 0; i + j < count; ++j) {
    const float value = entry(i + j);
    if (value < 0.0f) last |= std::uint32_t{1} << j;
    sums[j % kSums] += std::abs(value);
  }
  if (i < count) std::memcpy(words + i / 8, &last, sizeof last);
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  if (std::isfinite(sums[0])) return sums[0];
  double sum = 0.0;  // Four together were too large for a float.
  for (std::size_t j = 0; j < count; ++j) sum += std::abs(static_cast<double>(values[j]));
  return sum;
}

double PackImpl(const float* values, std::size_t count, std::byte* words) {
  return PackFrom(
      values, count, words, [values](auto d, std::size_t i) { return hn::LoadU(d, values + i); },
      [values](std::size_t i) { return values[i]; });
}

/// FiniteOrZero of a vector.
template <class D>
HWY_INLINE hn::Vec<D> FiniteLanes(D d, hn::Vec<D> values, std::uint32_t& non_finite) {
  const auto finite = hn::IsFinite(values);
  non_finite += static_cast<std::uint32_t>(hn::Lanes(d) - hn::CountTrue(d, finite));
  return hn::IfThenElseZero(finite, values);
}

/// PackImpl of the error that Take makes.
TakenSigns TakeAndPackImpl(float scale, const float* gradient, float ratio, float* error,
                           std::size_t count, std::byte* words) {
  TakenSigns taken;
  std::uint32_t non_finite = 0;
  taken.sum = PackFrom(
      error, count, words,
      [&](auto d, std::size_t i) {
        const auto scaled =
            FiniteLanes(d, hn::Mul(hn::Set(d, scale), hn::LoadU(d, gradient + i)), non_finite);
        const auto kept = hn::Mul(hn::Set(d, ratio), hn::LoadU(d, error + i));
        const auto sum = FiniteLanes(d, hn::Add(scaled, kept), non_finite);
        hn::StoreU(sum, d, error + i);
        return sum;
      },
      [&](std::size_t i) {
        const float scaled = FiniteOrZero(scale * gradient[i], non_finite);
        return error[i] = FiniteOrZero(scaled + ratio * error[i], non_finite);
      });
  taken.non_finite = non_finite;
  return taken;
}

/// Calls use(i, magnitude with the sign of entry i), a vector at a time and then entry by entry.
template <class UseVector, class UseEntry>
HWY_INLINE void ForEachSign(const ScaledSigns& signs, std::size_t count, UseVector use_vector,
                            UseEntry use_entry) {
  const hn::CappedTag<float, kWord> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const auto magnitude = hn::BitCast(du, hn::Set(d, signs.magnitude));
  const auto sign_bit = hn::Set(du, 0x80000000u);
  // Lane l of vector v has its sign in bit v * kLanes + l; this shifts it to the sign's place.
  hn::Vec<decltype(du)> steps[kWord / kLanes];
  for (std::size_t v = 0; v < kWord / kLanes; ++v) {
    steps[v] = hn::Sub(hn::Set(du, 31), hn::Iota(du, static_cast<std::uint32_t>(v * kLanes)));
  }
  std::size_t i = 0;
  for (; i + kWord <= count; i += kWord) {
    std::uint32_t word = 0;
    std::memcpy(&word, signs.words + i / 8, sizeof word);
    const auto bits = hn::Set(du, word);
    for (std::size_t v = 0; v < kWord / kLanes; ++v) {
      const auto sign = hn::And(hn::Shl(bits, steps[v]), sign_bit);
      use_vector(d, i + v * kLanes, hn::BitCast(d, hn::Xor(magnitude, sign)));
    }
  }
  for (; i < count; ++i) {
    const auto byte = static_cast<unsigned>(signs.words[i / 8]);
    use_entry(i, (byte >> i % 8 & 1) != 0 ? -signs.magnitude : signs.magnitude);
  }
}

void AddImpl(const ScaledSigns& signs, float* sum, std::size_t count) {
  ForEachSign(
      signs, count,
      [sum](auto d, std::size_t i, auto value) {
        hn::StoreU(hn::Add(hn::LoadU(d, sum + i), value), d, sum + i);
      },
      [sum](std::size_t i, float value) { sum[i] += value; });
}

void SetImpl(const ScaledSigns& signs, float* out, std::size_t count) {
  ForEachSign(
      signs, count, [out](auto d, std::size_t i, auto value) { hn::StoreU(value, d, out + i); },
      [out](std::size_t i, float value) { out[i] = value; });
}

/// Copies past the caches, for an `out` that is written before it is read. End with FlushStream.
void StreamImpl(const float* from, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(out + i) % (lanes * sizeof(float)) != 0;
       ++i) {
    out[i] = from[i];
  }
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, out + i);
  for (; i < count; ++i) out[i] = from[i];
}

void DivideImpl(float divisor, float* values, std::size_t count) {
  const hn::ScalableTag<float> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Div(hn::LoadU(d, values + i), hn::Set(d, divisor)), d, values + i);
  }
  for (; i < count; ++i) values[i] /= divisor;
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::cpu {
namespace {

HWY_EXPORT(PackImpl);
HWY_EXPORT(TakeAndPackImpl);
HWY_EXPORT(AddImpl);
HWY_EXPORT(SetImpl);
HWY_EXPORT(DivideImpl);
HWY_EXPORT(StreamImpl);

constexpr std::size_t kPackBlock = std::size_t{1} << 16;  // Taken by a thread at a time.
constexpr std::size_t kMeanBlock = std::size_t{1} << 12;  // Stays in the first-level cache.
// Number of entries above which the result would push all else out of the caches.
constexpr std::size_t kStreamFrom = std::size_t{4} << 20;

/// Collects the results of pack(begin, count) for each block of n entries.
template <class Result, class Pack>
std::vector<Result> InBlocks(std::size_t n, ThreadPool* pool, Pack pack) {
  std::vector<Result> results((n + kPackBlock - 1) / kPackBlock);
  const auto block = [&](int number) {
    const auto b = static_cast<std::size_t>(number);
    results[b] = pack(b * kPackBlock, std::min(kPackBlock, n - b * kPackBlock));
  };
  if (pool == nullptr) {
    for (std::size_t b = 0; b < results.size(); ++b) block(static_cast<int>(b));
  } else {
    pool->ParallelFor(static_cast<int>(results.size()), block);
  }
  return results;
}

}  // namespace

double PackSigns(std::span<const float> values, std::byte* words, ThreadPool* pool) {
  const auto pack = [&](std::size_t begin, std::size_t count) {
    return HWY_DYNAMIC_DISPATCH(PackImpl)(values.data() + begin, count, words + begin / 8);
  };
  double sum = 0.0;
  for (const double part : InBlocks<double>(values.size(), pool, pack)) sum += part;
  return sum;
}

TakenSigns TakeAndPackSigns(const ErrorStep& step, std::span<float> error, std::byte* words,
                            ThreadPool* pool) {
  WEIR_CHECK(step.gradient.size() == error.size());
  const auto pack = [&](std::size_t begin, std::size_t count) {
    return HWY_DYNAMIC_DISPATCH(TakeAndPackImpl)(step.scale, step.gradient.data() + begin,
                                                 step.ratio, error.data() + begin, count,
                                                 words + begin / 8);
  };
  TakenSigns taken;
  for (const TakenSigns& part : InBlocks<TakenSigns>(error.size(), pool, pack)) {
    taken.sum += part.sum;
    taken.non_finite += part.non_finite;
  }
  return taken;
}

void AddSigns(const ScaledSigns& signs, std::span<float> sum) {
  HWY_DYNAMIC_DISPATCH(AddImpl)(signs, sum.data(), sum.size());
}

void MeanOfSigns(std::span<const ScaledSigns> parts, std::size_t ranks, std::span<float> mean) {
  const bool stream = mean.size() >= kStreamFrom;
  // A single part is written in one go.
  const std::size_t step = parts.size() > 1 || stream ? kMeanBlock : mean.size();
  std::array<float, kMeanBlock> block;
  for (std::size_t begin = 0; begin < mean.size(); begin += step) {
    const std::size_t count = std::min(step, mean.size() - begin);
    float* const out = stream ? block.data() : mean.data() + begin;
    bool empty = true;
    for (ScaledSigns part : parts) {
      if (part.magnitude == 0.0f) continue;  // -0 would add nothing but a sign.
      part.words += begin / 8;
      if (empty) {
        HWY_DYNAMIC_DISPATCH(SetImpl)(part, out, count);
      } else {
        HWY_DYNAMIC_DISPATCH(AddImpl)(part, out, count);
      }
      empty = false;
    }
    if (empty) std::fill_n(out, count, 0.0f);
    if (ranks > 1) HWY_DYNAMIC_DISPATCH(DivideImpl)(static_cast<float>(ranks), out, count);
    if (stream) HWY_DYNAMIC_DISPATCH(StreamImpl)(out, mean.data() + begin, count);
  }
  if (stream) hwy::FlushStream();
}

}  // namespace weir::cpu
#endif
