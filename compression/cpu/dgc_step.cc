#include "compression/cpu/dgc_step.h"

#include <algorithm>
#include <optional>

#include "common/check.h"
#include "compression/cpu/sampled_threshold.h"

namespace weir::cpu {
namespace {

// Smaller parts cost more to hand out than they gain. More parts than threads even out what
// other programs take from a core.
constexpr std::size_t kMinPart = std::size_t{1} << 16;
constexpr std::size_t kPartsPerThread = 4;
constexpr std::size_t kMinWinners = std::size_t{1} << 12;  // The same for settling.

// The winners of a large tensor lie on as many cache lines, all of them cold. Prefetching this far
// ahead saves a quarter of the time.
constexpr std::size_t kPrefetchDistance = 32;

}  // namespace

DgcStep::DgcStep(const DgcRule& rule, std::span<float> u, std::span<float> v)
    : rule_(rule), u_(u), v_(v) {
  WEIR_CHECK(v.size() <= UINT32_MAX);
  WEIR_CHECK(u.size() == (rule.momentum == Momentum::kNone ? 0 : v.size()));
}

void DgcStep::DivideInto(std::size_t parts) {
  if (parts == parts_.size()) return;
  parts_ = std::vector<Part>(parts);
  const std::size_t n = v_.size();
  for (std::size_t p = 0; p < parts; ++p) {
    // Whole cache lines for each part but the last.
    parts_[p].begin = p == 0 ? 0 : parts_[p - 1].end;
    parts_[p].end = p + 1 == parts ? n : n * (p + 1) / parts / 64 * 64;
  }
}

template <typename Function>
void DgcStep::ForEachPart(const Function& function) {
  if (pool_ == nullptr) {
    for (Part& part : parts_) function(part);
  } else {
    pool_->ParallelFor(static_cast<int>(parts_.size()),
                       [&](int p) { function(parts_[static_cast<std::size_t>(p)]); });
  }
}

Accumulation DgcStep::Begin(std::span<const float> gradient, float gradient_scale,
                            ThreadPool* pool) {
  WEIR_CHECK(gradient.size() == v_.size());
  pool_ = pool;
  const std::size_t threads = pool == nullptr ? 1 : static_cast<std::size_t>(pool->threads());
  DivideInto(std::clamp<std::size_t>(v_.size() / kMinPart, 1,
                                     threads == 1 ? 1 : threads * kPartsPerThread));
  k_ = 0;
  old_u_.clear();
  old_v_.clear();
  return {.momentum = rule_.momentum,
          .m = rule_.m,
          .gradient_scale = gradient_scale,
          .gradient = gradient.data(),
          .u = u_.data(),
          .v = v_.data()};
}

void DgcStep::SetCount(std::size_t k) {
  k_ = k;
  // One entry more than needed: TakeWinners writes first and then decides.
  indices_.resize(k + 1);
  values_.resize(k + 1);
}

void DgcStep::Select(std::span<const float> gradient, float gradient_scale, std::size_t k,
                     ThreadPool* pool) {
  WEIR_CHECK(k >= 1 && k <= v_.size());
  const Accumulation step = Begin(gradient, gradient_scale, pool);
  SetCount(k);
  const bool dense_selection = !CandidatesPay(v_.size(), k);
  const RadixSelect::Result kth =
      dense_selection ? SelectAmongAll(step) : SelectAmongCandidates(step);
  kth_magnitude_ = MagnitudeOfKey(kth.key);
  if (kth.largest >= kInfinityKey) ClearNonFinite();
}

void DgcStep::Accumulate(std::span<const float> gradient, float gradient_scale, std::size_t k,
                         std::optional<float> threshold, ThreadPool* pool) {
  const Accumulation step = Begin(gradient, gradient_scale, pool);
  tracker_.Forget();
  if (threshold) {
    AccumulateCandidates(step, k, *threshold);
    SetSourcesToCandidates();
  } else {
    AccumulateAll(step);
    CollectAll();
  }
}

std::size_t DgcStep::Take(std::uint32_t kth, std::size_t ties) {
  std::size_t above = 0;
  std::size_t equal = 0;
  for (const std::span<const float> source : sources_) {
    for (const float value : source) {
      const std::uint32_t key = MagnitudeKey(value);
      above += key > kth ? 1 : 0;
      equal += key == kth ? 1 : 0;
    }
  }
  SetCount(above + std::min(equal, ties));
  const std::size_t left = TakeCollected(kth, ties);
  kth_magnitude_ = MagnitudeOfKey(kth);
  ClearNonFinite();
  return left;
}

void DgcStep::TakeLargest(std::size_t k) {
  SetCount(k);
  const RadixSelect::Result kth = select_.Select(sources_, k);
  TakeCollected(kth.key, k - kth.above);
  kth_magnitude_ = MagnitudeOfKey(kth.key);
  if (kth.largest >= kInfinityKey) ClearNonFinite();
}

void DgcStep::AccumulateAll(const Accumulation& step) {
  ForEachPart([&](Part& part) { part.non_finite = cpu::Accumulate(step, part.begin, part.end); });
  for (const Part& part : parts_) non_finite_ += part.non_finite;
}

void DgcStep::AccumulateCandidates(const Accumulation& step, std::size_t k, float threshold) {
  ForEachPart([&](Part& part) {
    part.candidates.Reset(k, part.end - part.begin, threshold);
    part.non_finite = AccumulateAndCollect(step, part.begin, part.end, part.candidates);
  });
  for (const Part& part : parts_) non_finite_ += part.non_finite;
}

void DgcStep::CollectAll() {
  candidates_ = 0;
  sources_.assign(1, v_);
}

void DgcStep::SetSourcesToCandidates() {
  candidates_ = CountCandidates();
  sources_.clear();
  for (const Part& part : parts_) sources_.push_back(part.candidates.values());
}

std::size_t DgcStep::TakeCollected(std::uint32_t kth, std::size_t ties) {
  Taken taken{.count = 0, .ties_left = ties};
  if (is_all()) {
    TakeWinners(
        v_, [](std::size_t i) { return static_cast<std::uint32_t>(i); }, kth, taken);
    return taken.ties_left;
  }
  for (const Part& part : parts_) {
    const std::span<const std::uint32_t> indices = part.candidates.indices();
    TakeWinners(
        part.candidates.values(), [&](std::size_t i) { return indices[i]; }, kth, taken);
  }
  return taken.ties_left;
}

RadixSelect::Result DgcStep::SelectAmongAll(const Accumulation& step) {
  AccumulateAll(step);
  tracker_.Forget();
  CollectAll();
  const RadixSelect::Result kth = select_.Select(sources_, k_);
  TakeCollected(kth.key, k_ - kth.above);
  return kth;
}

RadixSelect::Result DgcStep::SelectAmongCandidates(const Accumulation& step) {
  const std::optional<float> remembered = tracker_.Next(k_);
  float threshold = remembered ? *remembered : ThresholdAhead(step);
  AccumulateCandidates(step, k_, threshold);
  if (CountCandidates() < k_) {
    ++rereads_;
    if (remembered) {
      threshold = SampledThreshold([&](std::size_t i) { return v_[i]; });
      CollectAgain(threshold);
    }
    // At threshold 0 every entry is a candidate.
    if (CountCandidates() < k_) CollectAgain(threshold = 0.0f);
  }
  SetSourcesToCandidates();
  const RadixSelect::Result kth = select_.Select(sources_, k_);
  TakeCollected(kth.key, k_ - kth.above);
  tracker_.Observe(
      {.k = k_,
       .candidates = candidates_,
       .threshold = threshold,
       .kth = MagnitudeOfKey(kth.key),
       .rank_2k = MagnitudeOfKey(select_.LowerBoundOfRank(std::min(2 * k_, candidates_)))});
  return kth;
}

std::size_t DgcStep::CountCandidates() const {
  std::size_t count = 0;
  for (const Part& part : parts_) count += part.candidates.size();
  return count;
}

void DgcStep::CollectAgain(float threshold) {
  ForEachPart([&](Part& part) {
    part.candidates.Reset(k_, part.end - part.begin, threshold);
    Collect(v_.data(), part.begin, part.end, part.candidates);
  });
}

float DgcStep::ThresholdAhead(const Accumulation& step) {
  return SampledThreshold([&](std::size_t i) {
    const float scaled = step.gradient[i] * step.gradient_scale;
    float u = rule_.momentum == Momentum::kNone ? 0.0f : u_[i];
    return v_[i] + AdvanceMomentum(rule_.momentum, rule_.m, IsFinite(scaled) ? scaled : 0.0f, u);
  });
}

template <typename ValueAt>
float DgcStep::SampledThreshold(const ValueAt& value_at) {
  const SamplePlan plan(v_.size());
  samples_.resize(plan.size());
  for (std::size_t j = 0; j < plan.size(); ++j) samples_[j] = value_at(plan.Index(j));
  return ThresholdOfSamples(samples_, v_.size(), k_, select_);
}

template <typename IndexAt>
void DgcStep::TakeWinners(std::span<const float> values, const IndexAt& index_at, std::uint32_t kth,
                          Taken& taken) {
  std::uint32_t* const indices = indices_.data();
  float* const winners = values_.data();
  std::size_t count = taken.count;
  std::size_t ties = taken.ties_left;
  // Without branches: no branch predictor can guess which entry wins.
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t key = MagnitudeKey(values[i]);
    const std::size_t tie = key == kth && ties > 0 ? 1 : 0;
    indices[count] = index_at(i);
    winners[count] = values[i];
    count += key > kth ? 1 : tie;
    ties -= tie;
  }
  taken = {count, ties};
}

void DgcStep::ClearNonFinite() {
  for (std::size_t i = 0; i < k_; ++i) {
    if (IsFinite(values_[i])) continue;
    const std::uint32_t index = indices_[i];
    values_[i] = 0.0f;
    v_[index] = 0.0f;
    if (!u_.empty() && !IsFinite(u_[index])) u_[index] = 0.0f;
    ++non_finite_;
  }
}

void DgcStep::Settle(ThreadPool* pool) {
  old_v_.resize(k_);
  old_u_.resize(rule_.masking && !u_.empty() ? k_ : 0);
  if (pool == nullptr) return SettleRange(0, k_);
  const std::size_t ranges = std::clamp<std::size_t>(
      k_ / kMinWinners, 1, static_cast<std::size_t>(pool->threads()) * kPartsPerThread);
  pool->ParallelFor(static_cast<int>(ranges), [&](int part) {
    const auto p = static_cast<std::size_t>(part);
    SettleRange(k_ * p / ranges, k_ * (p + 1) / ranges);
  });
}

void DgcStep::SettleRange(std::size_t begin, std::size_t end) {
  const bool masking = !old_u_.empty();
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t ahead = indices_[std::min(i + kPrefetchDistance, end - 1)];
    __builtin_prefetch(&v_[ahead], 1);
    const std::uint32_t index = indices_[i];
    old_v_[i] = v_[index];
    v_[index] -= values_[i];
    if (masking) {
      __builtin_prefetch(&u_[ahead], 1);
      old_u_[i] = u_[index];
      // An entry that rounding made 0 was not sent.
      const bool vanished = values_[i] == 0.0f && old_v_[i] != 0.0f;
      u_[index] = vanished ? old_u_[i] : 0.0f;
    }
  }
}

void DgcStep::Undo() {
  for (std::size_t i = 0; i < old_v_.size(); ++i) v_[indices_[i]] = old_v_[i];
  for (std::size_t i = 0; i < old_u_.size(); ++i) u_[indices_[i]] = old_u_[i];
  old_v_.clear();
  old_u_.clear();
}

void DgcStep::Forget() {
  tracker_.Forget();
  k_ = 0;
  old_u_.clear();
  old_v_.clear();
}

}  // namespace weir::cpu
