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
  bool feedback = true;    ///< What was not sent joins the next gradient.
  bool warm_start = true;  ///< Begin with the right factor of the step before.
};

/// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019, algorithms 1 and 2): the gradient matrix is
/// approximated by a product of two thin factors, found by one step of subspace iteration on the
/// mean over ranks. On rank i, with M_i its gradient and what it had not sent:
///
///   Q = orthonormal right factor of the step before;   P = orthonormalised mean of M_i Q;
///   Q_i = M_i^T P;   update = P * (mean of Q_i)^T;   e_i = M_i - P Q_i^T
///
/// The error is what this rank's own factors leave, not M_i - update as in the authors' code and
/// PyTorch's hook. Both keep the mean over ranks of "sent plus error" equal to that of the
/// gradients. But M_i - update also keeps how the rank differs from the others inside of what was
/// sent. Those parts add up to nothing and so are never sent; where the ranks' data differ they
/// grow with every step, until fp32 loses the rest beside them. P Q_i^T is what of M_i arrived.
///
/// A direction of Q that has come to nothing (at first all of them) is drawn anew from the seed,
/// the tensor's name and the step, so that a gradient that was zero once is not lost for ever.
/// Ranks may begin a step with different Q (after a Join): that costs accuracy in one step and
/// nothing else.
///
/// As a codec around which it remembers (Encode) it sends the whole matrix, as fp32. State:
/// "error", n floats, with feedback; "factor", cols * width floats, with a warm start. Not
/// thread-safe (see Compressor).
class PowerSgd final : public AroundCodec, public FactorCompressor {
 public:
  /// `shape` has more entries than its two factors together.
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
  /// Exact before Decode; after it, what was sent is added again, with its rounding.
  void Revert() override;
  std::vector<StateArray> State() override;
  void Restored() override { sent_ = Sent::kNothing; }

 private:
  enum class Sent { kNothing, kWhole, kFactors };

  /// matrix_ = gradient + error, of which entries that are not finite count as 0.
  void Accumulate(const StepContext& context, std::span<const float> gradient);
  /// This step's Q.
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
