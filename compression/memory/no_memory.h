#pragma once

#include <memory>
#include <vector>

#include "compression/memory/around_codec.h"

namespace weir {

/// A codec as a compressor: unsent values are lost, and so is the gradient of a reverted step.
/// Not thread-safe (see Compressor).
class NoMemory : public AroundCodec {
 public:
  NoMemory(std::unique_ptr<const Codec> codec, std::size_t n);

  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  std::optional<GpuRule> gpu_rule() const override;
  /// Rounding loses its rest for good, as Encode does.
  bool drains() const override { return true; }
  std::span<const float> Drain(const StepContext& context, std::span<const float> gradient,
                               DType type) override;
  void Revert() override {}
  std::vector<StateArray> State() override { return {}; }

 private:
  void Scale(const StepContext& context, std::span<const float> gradient);

  std::vector<float> scaled_;  ///< Scratch: the finite, scaled gradient.
};

}  // namespace weir
