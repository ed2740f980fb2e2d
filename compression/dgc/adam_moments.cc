#include "compression/dgc/adam_moments.h"

#include <atomic>
#include <cmath>

#include "common/check.h"
#include "compression/cpu/in_ranges.h"
#include "compression/dgc/dgc_math.h"

namespace weir {
namespace {

constexpr std::size_t kRange = std::size_t{1} << 16;  // Handed to a thread at a time.

}  // namespace

AdamMoments::AdamMoments(const AdamSettings& settings, std::size_t n)
    : settings_(settings), u_(n), s_(n) {}

std::uint64_t AdamMoments::Advance(float learning_rate, float gradient_scale,
                                   std::span<const float> gradient, std::span<float> step,
                                   ThreadPool* pool, std::optional<double> beta1) {
  const double beta = beta1.value_or(settings_.beta1);
  const std::size_t n = u_.values().size();
  WEIR_CHECK(gradient.size() == n && step.size() == n);
  steps_ += 1.0f;
  const auto steps = static_cast<double>(steps_);
  const double bias1 = 1.0 - std::pow(beta, steps);
  const double bias2 = 1.0 - std::pow(settings_.beta2, steps);
  const Scalars scalars{.take1 = static_cast<float>(1.0 - beta),
                        .keep2 = static_cast<float>(settings_.beta2),
                        .take2 = static_cast<float>(1.0 - settings_.beta2),
                        .step_size = static_cast<float>(static_cast<double>(learning_rate) / bias1),
                        .root_of_bias2 = static_cast<float>(std::sqrt(bias2)),
                        .gradient_scale = gradient_scale};
  std::atomic<std::uint64_t> non_finite = 0;
  cpu::InRanges(n, kRange, pool, [&](std::size_t begin, std::size_t end) {
    non_finite += AdvanceRange(scalars, gradient.data(), step.data(), begin, end);
  });
  return non_finite;
}

std::uint64_t AdamMoments::AdvanceRange(const Scalars& scalars, const float* gradient, float* step,
                                        std::size_t begin, std::size_t end) {
  float* const u = u_.values().data();
  float* const s = s_.values().data();
  const auto epsilon = static_cast<float>(settings_.epsilon);
  std::uint64_t non_finite = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const float scaled = gradient[i] * scalars.gradient_scale;
    const bool usable = IsFinite(scaled * scaled);  // An infinite s would hold the entry for ever.
    non_finite += usable ? 0 : 1;
    const float g = usable ? scaled : 0.0f;
    u[i] = u[i] + scalars.take1 * (g - u[i]);
    s[i] = scalars.keep2 * s[i] + scalars.take2 * (g * g);
    const float size = std::sqrt(s[i]) / scalars.root_of_bias2 + epsilon;
    // Without gradients so far there is no direction; 0 / 0 with epsilon = 0.
    step[i] = size > 0.0f ? scalars.step_size * (u[i] / size) : 0.0f;
  }
  return non_finite;
}

void AdamMoments::AppendState(std::vector<Compressor::StateArray>& state) {
  state.push_back({"first moment", u_.values()});
  state.push_back({"second moment", s_.values()});
  state.push_back({"moment steps", {&steps_, 1}});
}

}  // namespace weir
