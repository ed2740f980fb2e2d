#pragma once

#include <memory>
#include <vector>

#include "compression/codec.h"
#include "compression/compressor.h"

namespace weir {

/// Error feedback around a codec (Karimireddy et al. 2019; the form BytePS uses): what was not sent
/// is added to the next gradient, in units of that step's learning rate:
///
///   p = g + (previous learning rate / learning rate) * e;  send C(p);  e = p - D(C(p))
///
/// A learning rate of 0 on either side counts as ratio 1. At a constant rate nothing is ever lost:
/// the sum of all D(C(p)) plus e equals the sum of all g. State: "error", n floats. Not thread-safe
/// (see Compressor).
class ErrorFeedback : public Compressor {
 public:
  ErrorFeedback(std::unique_ptr<const Codec> codec, std::size_t n);

  std::size_t MaxEncodedBytes(double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  /// Adds what was sent back to the error: exactly, when the codec rounds to nearest.
  void Revert() override;
  std::optional<DType> summable() const override { return codec_->summable(); }
  std::uint64_t non_finite_entries() const override { return non_finite_; }
  std::vector<StateArray> State() override;
  void Restored() override { sent_.clear(); }

 private:
  std::unique_ptr<const Codec> codec_;
  std::vector<float> error_;
  std::vector<std::byte> sent_;  ///< The last payload, for Revert.
  std::uint64_t non_finite_ = 0;
};

}  // namespace weir
