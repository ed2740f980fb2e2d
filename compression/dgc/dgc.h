#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compression/compressor.h"
#include "compression/cpu/dgc_step.h"
#include "compression/dgc/adam_moments.h"
#include "compression/dgc/joint_compressor.h"
#include "compression/memory/state_buffer.h"
#include "compression/wire/sparse_payload.h"

namespace weir {

/// User settings of DGC, the same for all tensors.
struct DgcSettings {
  cpu::DgcRule rule;
  ValueType values = ValueType::kFloat16;
  /// Divide the aggregate by MaskingGain at T = 1 / density: the step stays as long as dense
  /// momentum SGD's while the density falls. Not in the paper.
  bool gain_compensation = false;
  /// Accumulate the step that Adam would take on this rank's gradient, learning rate included;
  /// `rule` then has no momentum. Not in the paper.
  std::optional<AdamSettings> adam;
  /// Select the entries together with those of other tensors. Not in the paper.
  bool joint = false;
  /// Type of u and v. kBFloat16 is rounded at random (compression/memory/state_rounding.h),
  /// by `seed`. On a GPU that halves the memory; the CPU gives the same bits. Not in the
  /// paper; excludes `adam` and `joint`.
  DType state = DType::kFloat32;
  std::uint32_t seed = 0;
};

/// Deep Gradient Compression of one tensor (Lin et al., ICLR 2018): local momentum u and
/// accumulated velocity v, of which exactly K = max(1, round(density * n)) entries are sent in a
/// step. Rounding errors of fp16 and of fewer bits stay in v; fp32 values leave exactly 0.
///
/// In the dense phase the scaled gradient is exchanged as it is and Finish keeps momentum in the
/// same u. The first compressed step takes u over, with v still 0; the same for Adam's moments.
/// Results do not depend on StepContext::pool. Not thread-safe except Merge.
class Dgc final : public Compressor, private JointCompressor {
 public:
  /// Requires 1 <= n < 2^32.
  Dgc(const DgcSettings& settings, std::size_t n);

  std::size_t MaxEncodedBytes(double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  std::optional<ValueType> entry_values() const override { return EntryValues(settings_.values); }
  SparseEntries Entries(std::span<const std::byte> payload) const override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  /// Not with Adam, whose steps are no gradients, with gain_compensation or with a bf16 state.
  bool drains() const override;
  std::span<const float> Drain(const StepContext& context, std::span<const float> gradient,
                               DType type) override;
  void Revert() override;
  /// Costs memory as large as u and v, where the next step writes them, and a tenth of its time.
  void Mark() override;
  void GoBack() override;
  /// Unset with Adam, with joint selection and with low-bit values.
  std::optional<GpuRule> gpu_rule() const override;
  JointCompressor* joint() override { return settings_.joint ? this : nullptr; }
  /// Counts gradient entries, means of the dense phase, and overflowed entries of v.
  std::uint64_t non_finite_entries() const override {
    return non_finite_ + step_.non_finite_entries();
  }
  /// The smallest |v| that was sent.
  float threshold() const override { return step_.kth_magnitude(); }
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const override {
    return SparseEntryCount(payload);
  }
  std::span<const float> residual() const override;
  /// "momentum" (u, none with Momentum::kNone) and "velocity" (v); with Adam, its moments.
  std::vector<StateArray> State() override;
  void Restored() override;

 private:
  /// Bounded by n, not by a step's K: a rank that has joined does not know the step's density.
  SparseForm form() const override;
  void Accumulate(const StepContext& context, std::span<const float> gradient, std::size_t k,
                  std::optional<float> threshold) override;
  cpu::DgcStep& step() override { return step_; }
  /// Values added to v, through u or not: the gradient, or Adam's step. With their scale.
  struct Increment {
    std::span<const float> values;
    float scale;
  };
  Increment IncrementOf(const StepContext& context, std::span<const float> gradient);
  std::size_t EncodeTaken(const StepContext& context, std::span<std::byte> payload) override;
  /// Before and after the accumulation of a gradient, which leaves marked memory as it is.
  void BeginAccumulation(const StepContext& context);
  void EndAccumulation();
  /// Copies u and v to where they are kept as marked, before they change in place.
  void CopyMarked();
  /// Makes u what it would be if momentum had always been that of this step.
  void FollowMomentum(const StepContext& context);
  /// Rounds u and v.
  void RoundState(std::uint32_t key);
  /// Counts what was drained as sent for good. v may be empty afterwards, without being 0.
  void SettleDrain();
  /// Makes v what it counts as.
  void FillVelocity();

  DgcSettings settings_;
  StateBuffer u_;
  StateBuffer v_;
  /// What v counts as. Until a drained value is settled, its sending can be undone.
  enum class Velocity {
    kKept,         ///< What it holds.
    kEmpty,        ///< Zeros.
    kSent,         ///< Zeros, once settled: what it holds is sent.
    kSentFromU,    ///< Zeros, once settled: it is what u holds, and is sent.
    kSentRounded,  ///< What rounding leaves, once settled.
  };
  Velocity velocity_ = Velocity::kKept;
  DType sent_as_ = DType::kFloat32;  ///< With kSentRounded.
  /// u and v for Mark: as they were then (kApart), of u alone (kCopied), or anything (kOnly).
  enum class Marked { kNot, kOnly, kApart, kCopied };
  Marked marked_ = Marked::kNot;
  std::optional<StateBuffer> other_u_;
  std::optional<StateBuffer> other_v_;
  cpu::DgcStep step_;
  std::optional<AdamMoments> adam_;
  std::vector<float> adam_step_;  ///< Added to v in the gradient's place.
  std::uint64_t non_finite_ = 0;  ///< Entries that step_ does not see.
};

}  // namespace weir
