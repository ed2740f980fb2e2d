#pragma once

#include <memory>
#include <vector>

#include "compression/memory/around_codec.h"

namespace weir {

/// Factor for the error of the step before: previous learning rate /
/// learning rate, or 1 when either is 0.
float ErrorRatio(const StepContext& context);

/// Error feedback around a codec (Karimireddy et al. 2019; the form BytePS uses). The unsent part
/// is added to the next gradient, in units of that step's learning rate:
///
///   p = g + (previous learning rate / learning rate) * e;  send C(p);  e = p - D(C(p))
///
/// A learning rate of 0 on either side counts as ratio 1. At a constant rate nothing is ever
/// lost: the sum of all D(C(p)) plus e equals the sum of all g. State: "error", n floats.
/// Not thread-safe (see Compressor).
class ErrorFeedback : public AroundCodec {
 public:
  ErrorFeedback(std::unique_ptr<const Codec> codec, std::size_t n);

  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  /// Adds the sent values back to the error: exactly, when the codec rounds to nearest.
  void Revert() override;
  std::span<const float> residual() const override { return error_; }
  std::optional<GpuRule> gpu_rule() const override;
  std::vector<StateArray> State() override;
  void Restored() override { sent_.clear(); }

 private:
  std::vector<float> error_;
  std::vector<std::byte> sent_;  ///< The last payload, for Revert.
};

}  // namespace weir
