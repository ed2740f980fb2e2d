#include "compression/cpu/dgc_kernel.h"

// Compiled once for each instruction set. The scalable vectors of SVE and RVV fit neither kBlock
// nor the tests' machines; NEON serves there.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/cpu/dgc_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
constexpr std::size_t kVectors = 4;  // Vectors a branch; 1, 4 and 8 are equally fast, 4 is short.
static_assert(kVectors * HWY_MAX_BYTES / sizeof(float) <= CandidateList::kBlock);

/// What entries [i, i + Lanes) are selected by, after their update, and the lanes that had a finite
/// gradient.
struct Updated {
  V total;
  M finite;
};

/// WithTail for a vector: multiply and add separately, never fused.
HWY_INLINE V WithTailVector(float tail, V u, V v) {
  return hn::Add(v, hn::Mul(hn::Set(D(), tail), u));
}

/// Source of entries: the accumulation of a new gradient. Momentum is a template argument so
/// that each loop has one recursion, and whether its tail counts in the selection.
template <Momentum kMomentum, bool kTail>
class FromGradient {
 public:
  explicit FromGradient(const Accumulation& step) : step_(step) {}

  HWY_INLINE Updated Vector(std::size_t i) const {
    const D d;
    const V scaled = hn::Mul(hn::LoadU(d, step_.gradient + i), hn::Set(d, step_.gradient_scale));
    const M finite = hn::Lt(hn::Abs(scaled), hn::Set(d, MagnitudeOfKey(kInfinityKey)));
    const V g = hn::IfThenElseZero(finite, scaled);
    V u = hn::Zero(d);
    const V v = hn::Add(hn::LoadU(d, step_.v + i), Direction(i, g, u));
    hn::StoreU(v, d, step_.new_v + i);
    return {kTail ? WithTailVector(step_.tail, u, v) : v, finite};
  }

  /// Updates one entry; counts it into `not_finite`.
  HWY_INLINE float Entry(std::size_t i, std::uint64_t& not_finite) const {
    const float scaled = step_.gradient[i] * step_.gradient_scale;
    const bool finite = IsFinite(scaled);
    not_finite += finite ? 0 : 1;
    constexpr bool kHasMomentum = kMomentum != Momentum::kNone;
    float u = kHasMomentum ? step_.u[i] : 0.0f;
    const float direction = AdvanceMomentum(kMomentum, step_.m, finite ? scaled : 0.0f, u);
    if (kHasMomentum) step_.new_u[i] = u;
    const float v = step_.new_v[i] = step_.v[i] + direction;
    return kTail ? WithTail(step_.tail, u, v) : v;
  }

 private:
  /// AdvanceMomentum for a vector: multiply and add separately, never fused.
  HWY_INLINE V Direction(std::size_t i, V g, V& u) const {
    if constexpr (kMomentum == Momentum::kNone) {
      return g;
    } else {
      const D d;
      const V m = hn::Set(d, step_.m);
      const V old_u = hn::LoadU(d, step_.u + i);
      const bool nesterov = kMomentum == Momentum::kNesterov;
      u = nesterov ? hn::Mul(m, hn::Add(old_u, g)) : hn::Add(hn::Mul(m, old_u), g);
      hn::StoreU(u, d, step_.new_u + i);
      return nesterov ? hn::Add(u, g) : u;
    }
  }

  const Accumulation step_;
};

/// Source of entries that are only read.
template <bool kTail>
class AsTheyAre {
 public:
  explicit AsTheyAre(const Collected& from) : from_(from) {}
  HWY_INLINE Updated Vector(std::size_t i) const {
    const D d;
    const V v = hn::LoadU(d, from_.v + i);
    const M all = hn::FirstN(d, hn::Lanes(d));
    if constexpr (!kTail) return {v, all};
    return {WithTailVector(from_.tail, hn::LoadU(d, from_.u + i), v), all};
  }
  HWY_INLINE float Entry(std::size_t i, std::uint64_t&) const {
    return kTail ? WithTail(from_.tail, from_.u[i], from_.v[i]) : from_.v[i];
  }

 private:
  const Collected from_;
};

/// Appends the lanes of `v` outside `below`. Compressing in the register and then storing is fast
/// everywhere; compressing stores are slow on some CPUs.
HWY_INLINE void AppendLanes(std::size_t i, V v, M below, CandidateList& candidates) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const M hit = hn::Not(below);
  const auto indices = hn::Iota(du, static_cast<std::uint32_t>(i));
  hn::StoreU(hn::Compress(v, hit), d, candidates.next_value());
  hn::StoreU(hn::Compress(indices, hn::RebindMask(du, hit)), du, candidates.next_index());
  candidates.Commit(hn::CountTrue(d, hit));
}

/// One pass with a candidate test on each block of kVectors vectors; few blocks have a hit.
template <class Source>
std::uint64_t Scan(const Source& source, std::size_t begin, std::size_t end,
                   CandidateList& candidates) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t not_finite = 0;
  std::size_t i = begin;
  V threshold = hn::Set(d, candidates.threshold());
  for (; end - i >= kVectors * lanes; i += kVectors * lanes) {
    const Updated a = source.Vector(i);
    const Updated b = source.Vector(i + lanes);
    const Updated c = source.Vector(i + 2 * lanes);
    const Updated e = source.Vector(i + 3 * lanes);
    const M below_a = hn::Lt(hn::Abs(a.total), threshold);
    const M below_b = hn::Lt(hn::Abs(b.total), threshold);
    const M below_c = hn::Lt(hn::Abs(c.total), threshold);
    const M below_e = hn::Lt(hn::Abs(e.total), threshold);
    const M below = hn::And(hn::And(below_a, below_b), hn::And(below_c, below_e));
    const M finite = hn::And(hn::And(a.finite, b.finite), hn::And(c.finite, e.finite));
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(below, finite)))) continue;

    not_finite += kVectors * lanes - hn::CountTrue(d, a.finite) - hn::CountTrue(d, b.finite) -
                  hn::CountTrue(d, c.finite) - hn::CountTrue(d, e.finite);
    candidates.MakeRoom();
    AppendLanes(i, a.total, below_a, candidates);
    AppendLanes(i + lanes, b.total, below_b, candidates);
    AppendLanes(i + 2 * lanes, c.total, below_c, candidates);
    AppendLanes(i + 3 * lanes, e.total, below_e, candidates);
    threshold = hn::Set(d, candidates.threshold());
  }
  for (; i < end; ++i) {
    const float v = source.Entry(i, not_finite);
    candidates.MakeRoom();
    if (!(MagnitudeOfKey(MagnitudeKey(v)) < candidates.threshold())) {
      candidates.Append(static_cast<std::uint32_t>(i), v);
    }
  }
  return not_finite;
}

/// The pass without candidates.
template <Momentum kMomentum>
std::uint64_t Update(const Accumulation& step, std::size_t begin, std::size_t end) {
  const FromGradient<kMomentum, false> source(step);
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t not_finite = 0;
  std::size_t i = begin;
  for (; end - i >= lanes; i += lanes) {
    const M finite = source.Vector(i).finite;
    if (HWY_UNLIKELY(!hn::AllTrue(d, finite))) not_finite += lanes - hn::CountTrue(d, finite);
  }
  for (; i < end; ++i) source.Entry(i, not_finite);
  return not_finite;
}

std::uint64_t AccumulateImpl(const Accumulation& step, std::size_t begin, std::size_t end) {
  switch (step.momentum) {
    case Momentum::kVanilla:
      return Update<Momentum::kVanilla>(step, begin, end);
    case Momentum::kNesterov:
      return Update<Momentum::kNesterov>(step, begin, end);
    case Momentum::kNone:
      break;
  }
  return Update<Momentum::kNone>(step, begin, end);
}

template <Momentum kMomentum>
std::uint64_t UpdateAndScan(const Accumulation& step, std::size_t begin, std::size_t end,
                            CandidateList& candidates) {
  if (kMomentum == Momentum::kNone || step.tail == 0.0f) {
    return Scan(FromGradient<kMomentum, false>(step), begin, end, candidates);
  }
  return Scan(FromGradient<kMomentum, true>(step), begin, end, candidates);
}

std::uint64_t AccumulateAndCollectImpl(const Accumulation& step, std::size_t begin, std::size_t end,
                                       CandidateList& candidates) {
  switch (step.momentum) {
    case Momentum::kVanilla:
      return UpdateAndScan<Momentum::kVanilla>(step, begin, end, candidates);
    case Momentum::kNesterov:
      return UpdateAndScan<Momentum::kNesterov>(step, begin, end, candidates);
    case Momentum::kNone:
      break;
  }
  return UpdateAndScan<Momentum::kNone>(step, begin, end, candidates);
}

void CollectImpl(const Collected& from, std::size_t begin, std::size_t end,
                 CandidateList& candidates) {
  if (from.tail == 0.0f) {
    Scan(AsTheyAre<false>(from), begin, end, candidates);
  } else {
    Scan(AsTheyAre<true>(from), begin, end, candidates);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::cpu {

HWY_EXPORT(AccumulateImpl);
HWY_EXPORT(AccumulateAndCollectImpl);
HWY_EXPORT(CollectImpl);

std::uint64_t Accumulate(const Accumulation& step, std::size_t begin, std::size_t end) {
  return HWY_DYNAMIC_DISPATCH(AccumulateImpl)(step, begin, end);
}

std::uint64_t AccumulateAndCollect(const Accumulation& step, std::size_t begin, std::size_t end,
                                   CandidateList& candidates) {
  return HWY_DYNAMIC_DISPATCH(AccumulateAndCollectImpl)(step, begin, end, candidates);
}

void Collect(const Collected& from, std::size_t begin, std::size_t end, CandidateList& candidates) {
  HWY_DYNAMIC_DISPATCH(CollectImpl)(from, begin, end, candidates);
}

}  // namespace weir::cpu
#endif
