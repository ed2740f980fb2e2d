#include "compression/cpu/dgc_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/check.h"
#include "compression/cpu/sampled_threshold.h"

namespace weir::cpu {
namespace {

// Smaller parts cost more to hand out than they gain. More parts than threads even out what
// other programs take from a core.
constexpr std::size_t kMinPart = std::size_t{1} << 16;
constexpr std::size_t kPartsPerThread = 4;

}  // namespace

DgcStep::DgcStep(const DgcRule& rule, std::span<float> u, std::span<float> v)
    : rule_(rule), u_(u), v_(v), masking_(rule.masking, u, v) {
  WEIR_CHECK(v.size() <= UINT32_MAX);
  WEIR_CHECK(u.size() == (rule.momentum == Momentum::kNone ? 0 : v.size()));
}

void DgcStep::Use(std::span<float> u, std::span<float> v) {
  WEIR_CHECK(u.size() == u_.size() && v.size() == v_.size());
  u_ = u;
  v_ = v;
  masking_.Use(u, v);
}

void DgcStep::UseNext() {
  if (next_v_.empty()) return;
  Use(std::exchange(next_u_, {}), std::exchange(next_v_, {}));
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
  selection_.Clear();
  masking_.Forget();
  return {.momentum = rule_.momentum,
          .m = rule_.m,
          .tail = tail(),
          .gradient_scale = gradient_scale,
          .gradient = gradient.data(),
          .u = u_.data(),
          .v = v_.data(),
          .new_u = (next_v_.empty() ? u_ : next_u_).data(),
          .new_v = (next_v_.empty() ? v_ : next_v_).data()};
}

void DgcStep::Select(std::span<const float> gradient, float gradient_scale, std::size_t k,
                     ThreadPool* pool) {
  WEIR_CHECK(k >= 1 && k <= v_.size());
  const Accumulation step = Begin(gradient, gradient_scale, pool);
  const bool dense_selection = !CandidatesPay(v_.size(), k);
  const RadixSelect::Result kth =
      dense_selection ? SelectAmongAll(step, k) : SelectAmongCandidates(step, k);
  kth_magnitude_ = MagnitudeOfKey(kth.key);
  if (kth.largest >= kInfinityKey) ClearNonFinite();
}

void DgcStep::Accumulate(std::span<const float> gradient, float gradient_scale, std::size_t k,
                         std::optional<float> threshold, ThreadPool* pool) {
  if (!threshold) {
    Advance(gradient, gradient_scale, pool);
    return CollectAll();
  }
  const Accumulation step = Begin(gradient, gradient_scale, pool);
  tracker_.Forget();
  AccumulateCandidates(step, k, *threshold);
  SetSourcesToCandidates();
}

void DgcStep::Advance(std::span<const float> gradient, float gradient_scale, ThreadPool* pool) {
  const Accumulation step = Begin(gradient, gradient_scale, pool);
  tracker_.Forget();
  AccumulateAll(step);
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
  TakeCollected(above + std::min(equal, ties), kth, ties);
  kth_magnitude_ = MagnitudeOfKey(kth);
  ClearNonFinite();
  return selection_.ties_left();
}

void DgcStep::TakeLargest(std::size_t k) {
  const RadixSelect::Result kth = select_.Select(sources_, k);
  TakeCollected(k, kth.key, k - kth.above);
  kth_magnitude_ = MagnitudeOfKey(kth.key);
  if (kth.largest >= kInfinityKey) ClearNonFinite();
}

void DgcStep::AccumulateAll(const Accumulation& step) {
  ForEachPart([&](Part& part) { part.non_finite = cpu::Accumulate(step, part.begin, part.end); });
  UseNext();
  for (const Part& part : parts_) non_finite_ += part.non_finite;
}

void DgcStep::AccumulateCandidates(const Accumulation& step, std::size_t k, float threshold) {
  ForEachPart([&](Part& part) {
    part.candidates.Reset(k, part.end - part.begin, threshold);
    part.non_finite = AccumulateAndCollect(step, part.begin, part.end, part.candidates);
  });
  UseNext();
  for (const Part& part : parts_) non_finite_ += part.non_finite;
}

void DgcStep::CollectAll() {
  candidates_ = 0;
  is_all_ = true;
  sources_.assign(1, AllTotals());
}

std::span<const float> DgcStep::AllTotals() {
  if (tail() == 0.0f) return v_;
  totals_.resize(v_.size());
  ForEachPart([&](const Part& part) {
    for (std::size_t i = part.begin; i < part.end; ++i) totals_[i] = TotalOf(i);
  });
  return totals_;
}

void DgcStep::SetSourcesToCandidates() {
  is_all_ = false;
  candidates_ = CountCandidates();
  sources_.clear();
  for (const Part& part : parts_) sources_.push_back(part.candidates.values());
}

void DgcStep::TakeCollected(std::size_t k, std::uint32_t kth, std::size_t ties) {
  selection_.Begin(k, kth, ties);
  if (is_all_) {
    selection_.TakeFrom(sources_[0], [](std::size_t i) { return static_cast<std::uint32_t>(i); });
  } else {
    for (const Part& part : parts_) {
      const std::span<const std::uint32_t> indices = part.candidates.indices();
      selection_.TakeFrom(part.candidates.values(), [&](std::size_t i) { return indices[i]; });
    }
  }
  if (sent_tail() == tail()) return;
  const std::span<const std::uint32_t> indices = selection_.indices();
  const std::span<float> values = selection_.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    // One whose tail is not finite stays so, to be cleared.
    if (IsFinite(values[i])) values[i] = WithTail(sent_tail(), u_[indices[i]], v_[indices[i]]);
  }
}

RadixSelect::Result DgcStep::SelectAmongAll(const Accumulation& step, std::size_t k) {
  AccumulateAll(step);
  tracker_.Forget();
  CollectAll();
  const RadixSelect::Result kth = select_.Select(sources_, k);
  TakeCollected(k, kth.key, k - kth.above);
  return kth;
}

RadixSelect::Result DgcStep::SelectAmongCandidates(const Accumulation& step, std::size_t k) {
  const std::optional<float> remembered = tracker_.Next(k);
  float threshold = remembered ? *remembered : ThresholdAhead(step, k);
  AccumulateCandidates(step, k, threshold);
  if (CountCandidates() < k) {
    ++rereads_;
    if (remembered) {
      threshold = SampledThreshold(k, [&](std::size_t i) { return TotalOf(i); });
      CollectAgain(k, threshold);
    }
    // At threshold 0 every entry is a candidate.
    if (CountCandidates() < k) CollectAgain(k, threshold = 0.0f);
  }
  SetSourcesToCandidates();
  const RadixSelect::Result kth = select_.Select(sources_, k);
  TakeCollected(k, kth.key, k - kth.above);
  tracker_.Observe(
      {.k = k,
       .candidates = candidates_,
       .threshold = threshold,
       .kth = MagnitudeOfKey(kth.key),
       .rank_2k = MagnitudeOfKey(select_.LowerBoundOfRank(std::min(2 * k, candidates_)))});
  return kth;
}

std::size_t DgcStep::CountCandidates() const {
  std::size_t count = 0;
  for (const Part& part : parts_) count += part.candidates.size();
  return count;
}

void DgcStep::CollectAgain(std::size_t k, float threshold) {
  ForEachPart([&](Part& part) {
    part.candidates.Reset(k, part.end - part.begin, threshold);
    Collect({.u = u_.data(), .v = v_.data(), .tail = tail()}, part.begin, part.end,
            part.candidates);
  });
}

float DgcStep::ThresholdAhead(const Accumulation& step, std::size_t k) {
  return SampledThreshold(k, [&](std::size_t i) {
    const float scaled = step.gradient[i] * step.gradient_scale;
    float u = rule_.momentum == Momentum::kNone ? 0.0f : u_[i];
    const float v =
        v_[i] + AdvanceMomentum(rule_.momentum, rule_.m, IsFinite(scaled) ? scaled : 0.0f, u);
    return WithTail(step.tail, u, v);
  });
}

template <typename ValueAt>
float DgcStep::SampledThreshold(std::size_t k, const ValueAt& value_at) {
  const SamplePlan plan(v_.size());
  samples_.resize(plan.size());
  for (std::size_t j = 0; j < plan.size(); ++j) samples_[j] = value_at(plan.Index(j));
  return ThresholdOfSamples(samples_, v_.size(), k, select_);
}

void DgcStep::ClearNonFinite() {
  const std::span<const std::uint32_t> indices = selection_.indices();
  const std::span<float> values = selection_.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (IsFinite(values[i])) continue;
    const std::uint32_t index = indices[i];
    values[i] = 0.0f;
    v_[index] = 0.0f;
    if (!u_.empty() && (tail() != 0.0f || !IsFinite(u_[index]))) u_[index] = 0.0f;
    ++non_finite_;
  }
}

void DgcStep::Forget() {
  tracker_.Forget();
  selection_.Clear();
  masking_.Forget();
}

}  // namespace weir::cpu
