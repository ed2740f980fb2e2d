#include "compression/cpu/dither.h"

#include <algorithm>
#include <array>
#include <cstddef>

// Compiled once for each instruction set, without the scalable vectors,
// which cannot be kept in an array.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/cpu/dither.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlocks = kDitherBlocks;  // Drawn side by side.
using D = hn::CappedTag<float, kBlocks>;
using DU = hn::RebindToUnsigned<D>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;

float LargestImpl(const float* values, std::size_t count) {
  const D d;
  V a = hn::Zero(d);
  V b = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * hn::Lanes(d) <= count; i += 2 * hn::Lanes(d)) {
    a = hn::Max(a, hn::Abs(hn::LoadU(d, values + i)));
    b = hn::Max(b, hn::Abs(hn::LoadU(d, values + i + hn::Lanes(d))));
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; i < count; ++i) largest = std::max(largest, values[i] < 0 ? -values[i] : values[i]);
  return largest;
}

/// The 64 bits of each a * b.
template <class N>
struct Product {
  N high;
  N low;
};

template <class DN>
HWY_INLINE Product<hn::Vec<DN>> Multiply(DN d, hn::Vec<DN> a, hn::Vec<DN> b) {
  if constexpr (hn::MaxLanes(DN()) == 1) {
    const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
    return {hn::Set(d, static_cast<std::uint32_t>(product >> 32)),
            hn::Set(d, static_cast<std::uint32_t>(product))};
  } else {
    const hn::Repartition<std::uint64_t, DN> wide;
    const auto down = [&](auto v) {
      return hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, v)));
    };
    const auto even = hn::MulEven(a, b);
    const auto odd = hn::MulEven(down(a), down(b));
    return {hn::OddEven(hn::BitCast(d, odd), down(even)),
            hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
  }
}

// The blocks of a chunk are drawn side by side, because each round waits for the one before.
constexpr std::size_t kVectors = kBlocks / hn::MaxLanes(DU());
using Counters = VU[kVectors][4];

/// CounterRandom::Draw of the kBlocks blocks from `index` on.
HWY_INLINE void Draw(const DitherSource& source, std::uint32_t index, Counters& counters) {
  const DU d;
  std::array<std::uint32_t, 2> key = source.random.key();
  const auto step = static_cast<std::uint64_t>(source.step);
  for (std::size_t v = 0; v < kVectors; ++v) {
    VU* const counter = counters[v];
    counter[0] = hn::Iota(d, index + static_cast<std::uint32_t>(v * hn::MaxLanes(d)));
    counter[1] = hn::Set(d, static_cast<std::uint32_t>(source.rank));
    counter[2] = hn::Set(d, static_cast<std::uint32_t>(step));
    counter[3] = hn::Set(d, static_cast<std::uint32_t>(step >> 32));
  }
  for (int round = 0; round < CounterRandom::kRounds; ++round) {
    for (VU* const counter : counters) {
      const auto a = Multiply(d, counter[0], hn::Set(d, CounterRandom::kMultiplierA));
      const auto b = Multiply(d, counter[2], hn::Set(d, CounterRandom::kMultiplierB));
      counter[0] = hn::Xor(hn::Xor(b.high, counter[1]), hn::Set(d, key[0]));
      counter[2] = hn::Xor(hn::Xor(a.high, counter[3]), hn::Set(d, key[1]));
      counter[1] = b.low;
      counter[3] = a.low;
    }
    key[0] += CounterRandom::kKeyStepA;
    key[1] += CounterRandom::kKeyStepB;
  }
}

/// The level below y in [0, 1], and the fraction of the way from there to the next.
struct Place {
  hn::Vec<DI> below;
  V rest;
};

HWY_INLINE Place LinearPlace(V y, const DitherRule& rule) {
  const D d;
  const V place = hn::Mul(y, hn::Set(d, static_cast<float>(rule.levels)));
  const auto below = hn::ConvertTo(DI(), place);
  return {below, hn::Sub(place, hn::ConvertTo(d, below))};
}

HWY_INLINE Place NaturalPlace(V y, const DitherRule& rule) {
  const D d;
  const DU du;
  const DI di;
  const VU bits = hn::BitCast(du, y);
  const auto exponent = hn::BitCast(di, hn::ShiftRight<23>(bits));  // Plus 127.
  const auto below = hn::Max(hn::Add(exponent, hn::Set(di, rule.levels - 127)), hn::Zero(di));
  // Below the lowest level: towards 2^(1-s). Otherwise the part after the leading bit.
  const V to_lowest = hn::Mul(
      y, hn::BitCast(d, hn::Set(du, static_cast<std::uint32_t>(127 + rule.levels - 1) << 23)));
  const auto mantissa = hn::Or(hn::And(bits, hn::Set(du, 0x7fffff)), hn::Set(du, 0x3f800000));
  const V to_next = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0f));
  const auto is_lowest = hn::RebindMask(d, hn::Eq(below, hn::Zero(di)));
  return {below, hn::IfThenElse(is_lowest, to_lowest, to_next)};
}

template <bool kNatural>
HWY_INLINE void RoundVector(const float* values, V unit, const DitherRule& rule,
                            std::int8_t* levels) {
  const D d;
  const DI di;
  const V value = hn::LoadU(d, values);
  const V y = hn::Min(hn::Div(hn::Abs(value), hn::Set(d, rule.scale)), hn::Set(d, 1.0f));
  const Place place = kNatural ? NaturalPlace(y, rule) : LinearPlace(y, rule);
  const auto up = hn::RebindMask(di, hn::Lt(unit, place.rest));
  const auto level = hn::Sub(place.below, hn::VecFromMask(di, up));
  const auto negative = hn::RebindMask(di, hn::Lt(value, hn::Zero(d)));
  const auto with_sign = hn::IfThenElse(negative, hn::Neg(level), level);
  hn::StoreU(hn::DemoteTo(hn::Rebind<std::int8_t, DI>(), with_sign), hn::Rebind<std::int8_t, DI>(),
             levels);
}

/// 24 random bits of each word, in [0, 1).
HWY_INLINE V UnitOf(VU draws) {
  return hn::Mul(hn::ConvertTo(D(), hn::BitCast(DI(), hn::ShiftRight<8>(draws))),
                 hn::Set(D(), 0x1p-24f));
}

template <bool kNatural>
void Chunks(const DitherSource& source, const DitherRule& rule, std::size_t first_chunk,
            std::size_t chunks, const float* values, std::int8_t* levels) {
  const D d;
  for (std::size_t c = 0; c < chunks; ++c) {
    Counters draws;
    if (!rule.nearest) {
      Draw(source, static_cast<std::uint32_t>((first_chunk + c) * kBlocks), draws);
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      for (std::size_t word = 0; word < 4; ++word) {
        const V unit = rule.nearest ? hn::Set(d, 0.5f) : UnitOf(draws[v][word]);
        const std::size_t i = c * kDitherChunk + word * kBlocks + v * hn::MaxLanes(d);
        RoundVector<kNatural>(values + i, unit, rule, levels + i);
      }
    }
  }
}

/// Dithers whole chunks, the first of which is number `first_chunk` of the array.
void DitherImpl(const DitherSource& source, const DitherRule& rule, std::size_t first_chunk,
                std::size_t chunks, const float* values, std::int8_t* levels) {
  if (rule.natural) {
    Chunks<true>(source, rule, first_chunk, chunks, values, levels);
  } else {
    Chunks<false>(source, rule, first_chunk, chunks, values, levels);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::cpu {
namespace {

HWY_EXPORT(LargestImpl);
HWY_EXPORT(DitherImpl);

constexpr std::size_t kPartValues = std::size_t{1} << 16;  // Taken by a thread at a time.

}  // namespace

float LargestMagnitude(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(LargestImpl)(values.data(), values.size());
}

void Dither(const DitherSource& source, const DitherRule& rule, std::span<const float> values,
            std::span<std::int8_t> levels, ThreadPool* pool) {
  const auto dither = [&](std::size_t begin, std::size_t chunks, const float* in,
                          std::int8_t* out) {
    HWY_DYNAMIC_DISPATCH(DitherImpl)
    (source, rule, begin / kDitherChunk, chunks, in, out);
  };
  const auto part = [&](int number) {
    const std::size_t begin = static_cast<std::size_t>(number) * kPartValues;
    const std::size_t count = std::min(kPartValues, values.size() - begin);
    const std::size_t whole = count / kDitherChunk;
    dither(begin, whole, values.data() + begin, levels.data() + begin);
    const std::size_t rest = begin + whole * kDitherChunk;
    if (rest == begin + count) return;
    std::array<float, kDitherChunk> last{};
    std::array<std::int8_t, kDitherChunk> rounded;
    std::ranges::copy(values.subspan(rest, begin + count - rest), last.begin());
    dither(rest, 1, last.data(), rounded.data());
    std::copy_n(rounded.begin(), begin + count - rest, levels.data() + rest);
  };
  const auto parts = static_cast<int>((values.size() + kPartValues - 1) / kPartValues);
  if (pool == nullptr) {
    for (int number = 0; number < parts; ++number) part(number);
  } else {
    pool->ParallelFor(parts, part);
  }
}

}  // namespace weir::cpu
#endif
