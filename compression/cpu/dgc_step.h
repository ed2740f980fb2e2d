#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/threads/thread_pool.h"
#include "compression/cpu/candidate_list.h"
#include "compression/cpu/dgc_kernel.h"
#include "compression/cpu/exact_k.h"
#include "compression/cpu/factor_masking.h"
#include "compression/cpu/radix_select.h"
#include "compression/dgc/dgc_math.h"
#include "compression/dgc/threshold_tracker.h"

namespace weir::cpu {

/// Settings of one tensor's DGC besides selection.
struct DgcRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;  ///< Momentum.
  Masking masking = Masking::kAll;
};

/// One rank's DGC steps of one tensor (Lin et al., ICLR 2018, algorithm 4), in one
/// pass over gradient, u and v: 20 bytes an entry. Candidates are the entries that
/// reach a threshold kept from the last step. The selection is always exactly the K
/// largest magnitudes of v with the tail of u, ties to the lower index: too many candidates are
/// compacted on the way, too few cost one more read of v. Results do not depend on the pool, the
/// instruction set or earlier thresholds.
///
/// The caller owns u and v, which move by Use and WriteTo alone; u is empty with Momentum::kNone.
/// `pool` may be null. Not thread-safe. Allocates only when k or n / k changes.
class DgcStep {
 public:
  /// Takes at most 2^32 - 1 entries.
  DgcStep(const DgcRule& rule, std::span<float> u, std::span<float> v);

  /// Adds gradient * gradient_scale to u and v and selects 1 <= k <= n entries. Non-finite gradient
  /// entries count as 0. A selected entry of v that is not finite (u or v overflowed, or a damaged
  /// state) is cleared, in u too, and sent as 0. `pool`, if any, shares the work.
  void Select(std::span<const float> gradient, float gradient_scale, std::size_t k,
              ThreadPool* pool = nullptr);

  /// TailOf and SentTailOf, with the present momentum; 0 without any.
  float tail() const { return u_.empty() ? 0.0f : TailOf(rule_.masking, rule_.m); }
  float sent_tail() const { return u_.empty() ? 0.0f : SentTailOf(rule_.masking, rule_.m); }
  /// Changes the momentum of the steps to come.
  void set_momentum(float m) { rule_.m = m; }
  /// Makes these u and v.
  void Use(std::span<float> u, std::span<float> v);
  /// Makes the next step write u and v there, and Use them. The former ones stay as they are.
  void WriteTo(std::span<float> u, std::span<float> v) {
    next_u_ = u;
    next_v_ = v;
  }

  /// Adds the gradient, and collects nothing: CollectAll follows.
  void Advance(std::span<const float> gradient, float gradient_scale, ThreadPool* pool);
  /// First half of Select; between the halves others say what to select
  /// (compression/dgc/joint_selection.h). Adds the gradient and collects the entries that reach
  /// `threshold`, which may be among the tensor's k largest. Without a threshold collects all
  /// entries, in one more read of v.
  void Accumulate(std::span<const float> gradient, float gradient_scale, std::size_t k,
                  std::optional<float> threshold, ThreadPool* pool = nullptr);
  /// Counts every entry as collected, with u and v as they are now.
  void CollectAll();
  /// Magnitudes of the collected entries, in index order.
  std::span<const std::span<const float>> collected() const { return sources_; }
  /// Second half of Select: takes the collected entries whose MagnitudeKey is above `kth`, and the
  /// first `ties` of those that equal it. Returns the number of ties left over.
  std::size_t Take(std::uint32_t kth, std::size_t ties);
  /// Takes the k largest of them instead.
  void TakeLargest(std::size_t k);

  /// The selection, in index order. Before Settle, `values` may be replaced by what receivers will
  /// decode.
  std::span<const std::uint32_t> indices() const { return selection_.indices(); }
  std::span<float> values() { return selection_.values(); }

  /// Takes the values of the selected entries out of v, and masks u there (FactorMasking). `pool`,
  /// if any, shares the work.
  void Settle(ThreadPool* pool = nullptr) {
    masking_.Settle(selection_.indices(), selection_.values(), sent_tail(), pool);
  }
  /// Puts back what the last Settle changed; no effect if that was done already.
  void Undo() { masking_.Undo(); }

  /// Forgets the threshold and the last selection, because u and v were written from outside.
  void Forget();

  /// The k-th largest magnitude of the last Select.
  float kth_magnitude() const { return kth_magnitude_; }
  /// Non-finite gradient entries met, and selected entries of v cleared, since construction.
  std::uint64_t non_finite_entries() const { return non_finite_; }
  /// Candidates of the last Select; 0 when it used none.
  std::size_t candidates() const { return candidates_; }
  /// Selects since construction whose threshold too few entries reached.
  std::uint64_t rereads() const { return rereads_; }

 private:
  /// A range of the tensor that one thread scans.
  struct alignas(64) Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t non_finite = 0;
    CandidateList candidates;
  };

  Accumulation Begin(std::span<const float> gradient, float gradient_scale, ThreadPool* pool);
  void DivideInto(std::size_t parts);
  template <typename Function>
  void ForEachPart(const Function& function);
  RadixSelect::Result SelectAmongCandidates(const Accumulation& step, std::size_t k);
  RadixSelect::Result SelectAmongAll(const Accumulation& step, std::size_t k);
  void AccumulateAll(const Accumulation& step);
  void AccumulateCandidates(const Accumulation& step, std::size_t k, float threshold);
  void SetSourcesToCandidates();
  void UseNext();
  /// What all entries are selected by: v itself, or totals_.
  std::span<const float> AllTotals();
  float TotalOf(std::size_t i) const { return u_.empty() ? v_[i] : WithTail(tail(), u_[i], v_[i]); }
  /// Selects k of the collected entries; their values become what is sent.
  void TakeCollected(std::size_t k, std::uint32_t kth, std::size_t ties);
  std::size_t CountCandidates() const;
  void CollectAgain(std::size_t k, float threshold);
  /// A first threshold, from samples of v after the coming pass.
  float ThresholdAhead(const Accumulation& step, std::size_t k);
  template <typename ValueAt>
  float SampledThreshold(std::size_t k, const ValueAt& value_at);
  void ClearNonFinite();

  DgcRule rule_;
  std::span<float> u_;
  std::span<float> v_;
  std::span<float> next_u_;  ///< As WriteTo has told; empty: u_ and v_.
  std::span<float> next_v_;
  ThreadPool* pool_ = nullptr;  ///< The pool of the current Select.

  std::vector<Part> parts_;
  ThresholdTracker tracker_;
  RadixSelect select_;
  std::vector<float> samples_;
  std::vector<std::span<const float>> sources_;  ///< Collected entries: candidates, or all.
  bool is_all_ = false;                          ///< They are all.
  std::vector<float> totals_;                    ///< v with the tail, where entries have one.

  ExactK selection_;
  FactorMasking masking_;

  float kth_magnitude_ = 0.0f;
  std::uint64_t non_finite_ = 0;
  std::size_t candidates_ = 0;
  std::uint64_t rereads_ = 0;
};

}  // namespace weir::cpu
