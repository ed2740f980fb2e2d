#pragma once

#include <memory>
#include <vector>

#include "compression/memory/around_codec.h"

namespace weir {

/// Signum with majority vote (Bernstein et al. 2018): each rank sends the signs of its
/// momentum m = mu * m + (1 - mu) * g. The direction is the sign that most ranks have, 0 in a
/// tie. In the dense phase the momentum is that of the mean gradient. State: "momentum", n
/// floats. Not thread-safe (see Compressor).
class Signum : public AroundCodec {
 public:
  Signum(std::unique_ptr<const Codec> signs, std::size_t n, float mu);

  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  std::optional<GpuRule> gpu_rule() const override;
  void Revert() override {}  // The gradient stays in the momentum.
  std::vector<StateArray> State() override { return {{"momentum", momentum_}}; }

 private:
  void Advance(float mu, float scale, std::span<const float> gradient);

  float mu_;
  std::vector<float> momentum_;
};

}  // namespace weir
