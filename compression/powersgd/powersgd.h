#pragma once

#include <cstddef>
#include <vector>

#include "compression/cpu/low_rank.h"
#include "compression/memory/around_codec.h"
#include "compression/memory/state_buffer.h"
#include "compression/powersgd/factor_compressor.h"
#include "compression/random/counter_random.h"

namespace weir {

struct PowerSgdSettings {
  bool feedback = true;    ///< Add the unsent part to the next gradient.
  bool warm_start = true;  ///< Begin with the right factor of the last step.
};

/// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019, algorithms 1 and 2). The gradient matrix is
/// approximated by a product of two thin factors, found by one step of subspace iteration on the
/// mean over ranks. On rank i, with M_i its gradient plus its error:
///
///   Q = orthonormal right factor of the step before;   P = orthonormalised mean of M_i Q;
///   Q_i = M_i^T P;   update = P * (mean of Q_i)^T;   e_i = M_i - P Q_i^T
///
/// The error is what this rank's own factors leave, not M_i - update as in the authors' code and
/// PyTorch's hook. Both keep the mean over ranks of "sent plus error" equal to that of the
/// gradients. But M_i - update also keeps the rank's difference from the others in the sent part.
/// These differences sum to nothing and are never sent; where the ranks' data differ they grow
/// every step, until fp32 loses the rest beside them. P Q_i^T is the part of M_i that arrived.
///
/// A direction of Q that has become zero (at first all of them) is drawn anew from
/// the seed, the tensor's name and the step, so that a gradient that was zero once is
/// not lost for ever. Ranks may begin a step with different Q (after a Join), which
/// only costs accuracy in one step.
///
/// As a codec with memory (Encode) it sends the whole matrix, as fp32. State:
/// "error", n floats, with feedback; "factor", cols * width floats, with a warm
/// start. Not thread-safe (see Compressor).
class PowerSgd final : public AroundCodec, public FactorCompressor {
 public:
  /// Requires a `shape` with more entries than its two factors together.
  PowerSgd(const cpu::LowRankShape& shape, const PowerSgdSettings& settings, CounterRandom random);

  FactorCompressor* factors() override { return this; }
  std::size_t first_size() const override { return shape_.left_size(); }
  std::size_t second_size() const override { return shape_.right_size(); }
  void EncodeFirst(const StepContext& context, std::span<const float> gradient,
                   std::span<float> first) override;
  void EncodeSecond(const StepContext& context, std::span<const float> first,
                    std::span<float> second) override;
  void Decode(const StepContext& context, std::span<const float> second,
              std::span<float> result) override;

  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  bool remembers_means() const override { return true; }
  /// Exact before Decode; after it, adds the sent part again, with its rounding.
  void Revert() override;
  std::vector<StateArray> State() override;
  void Restored() override { sent_ = Sent::kNothing; }

 private:
  enum class Sent { kNothing, kWhole, kFactors };

  /// matrix_ = gradient + error; entries that are not finite count as 0.
  void Accumulate(const StepContext& context, std::span<const float> gradient);
  /// Prepares this step's Q.
  void BeginRight(std::int64_t step);

  const cpu::LowRankShape shape_;
  const PowerSgdSettings settings_;
  const CounterRandom random_;
  StateBuffer matrix_;  ///< The error; from Accumulate to Decode the M of this step.
  /// Right factor of the last step; all zero before the first one, and without a warm start.
  std::vector<float> factor_;
  std::vector<float> left_;   ///< P.
  std::vector<float> right_;  ///< Q, then Q_i.
  Sent sent_ = Sent::kNothing;
};

}  // namespace weir
