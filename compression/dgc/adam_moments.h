#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compression/compressor.h"
#include "compression/memory/state_buffer.h"

namespace weir {

/// The constants of Adam, as torch.optim.Adam names them.
struct AdamSettings {
  double beta1 = 0.9;     ///< In [0, 1).
  double beta2 = 0.999;   ///< In [0, 1).
  double epsilon = 1e-8;  ///< At least 0.
};

/// The two moments of one tensor's gradient and the resulting step (Kingma and Ba, ICLR 2015,
/// algorithm 1): u = beta1 u + (1 - beta1) g, s = beta2 s + (1 - beta2) g^2, and, with both
/// corrected for bias, rate * u / (sqrt(s) + epsilon). The arithmetic is that of
/// torch.optim.Adam. Not thread-safe.
class AdamMoments {
 public:
  AdamMoments(const AdamSettings& settings, std::size_t n);

  /// Adds gradient * gradient_scale to the moments and writes the step, which is to be subtracted
  /// from the weights; `step` may be `gradient`. An entry that is not finite, or whose square is
  /// not, counts as 0. Returns the number of these. `pool`, if any, shares the work.
  /// `beta1`, if any, takes the place of the settings'.
  std::uint64_t Advance(float learning_rate, float gradient_scale, std::span<const float> gradient,
                        std::span<float> step, ThreadPool* pool = nullptr,
                        std::optional<double> beta1 = {});

  /// Appends "first moment" and "second moment" of n values, and "moment steps" of one: the number
  /// of gradients seen, exact below 2^24.
  void AppendState(std::vector<Compressor::StateArray>& state);

 private:
  /// Values that all entries of a step share.
  struct Scalars {
    float take1, keep2, take2;
    float step_size;
    float root_of_bias2;
    float gradient_scale;
  };
  std::uint64_t AdvanceRange(const Scalars& scalars, const float* gradient, float* step,
                             std::size_t begin, std::size_t end);

  const AdamSettings settings_;
  StateBuffer u_;
  StateBuffer s_;
  float steps_ = 0.0f;
};

}  // namespace weir
