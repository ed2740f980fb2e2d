#pragma once

#include <memory>
#include <vector>

#include "compression/codec.h"
#include "compression/compressor.h"

namespace weir {

/// A codec as a compressor: what is not sent is lost, and so is the gradient of a reverted step.
/// Not thread-safe (see Compressor).
class NoMemory : public Compressor {
 public:
  NoMemory(std::unique_ptr<const Codec> codec, std::size_t n);

  std::size_t MaxEncodedBytes(double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void Revert() override {}
  std::optional<DType> summable() const override { return codec_->summable(); }
  std::uint64_t non_finite_entries() const override { return non_finite_; }
  std::vector<StateArray> State() override { return {}; }

 private:
  std::unique_ptr<const Codec> codec_;
  std::vector<float> scaled_;  ///< Scratch: the finite, scaled gradient.
  std::uint64_t non_finite_ = 0;
};

}  // namespace weir
