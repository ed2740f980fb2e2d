#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compression/momentum.h"

/// Arithmetic of Deep Gradient Compression on single numbers, written once for every kernel:
/// scalar, SIMD tail or CUDA (constexpr functions compile for the device with
/// --expt-relaxed-constexpr). Each operation rounds once, with no fused multiply-add, so every
/// kernel gets the same bits. Lin et al., "Deep Gradient Compression", ICLR 2018, section 3.
namespace weir {

/// The total update per unit of a constant gradient when v is sent and u masked every `interval`
/// steps, relative to dense momentum SGD: f(T) = 1 - m (1 - m^T) / (T (1 - m)) for vanilla, m f(T)
/// + 1 - m for Nesterov. Below 1, because masking drops the momentum of sent entries.
inline double MaskingGain(Momentum momentum, double m, double interval) {
  if (momentum == Momentum::kNone || m == 0.0) return 1.0;
  const double f = 1.0 - m * (1.0 - std::pow(m, interval)) / (interval * (1.0 - m));
  return momentum == Momentum::kNesterov ? m * f + (1.0 - m) : f;
}

/// Orders numbers by magnitude: for |a| < |b| the key of a is smaller. Both zeros have key 0; NaN
/// is above infinity, so broken entries are sent, seen and cleared first.
constexpr std::uint32_t MagnitudeKey(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}
constexpr float MagnitudeOfKey(std::uint32_t key) { return std::bit_cast<float>(key); }

inline constexpr std::uint32_t kInfinityKey = 0x7f800000u;

constexpr bool IsFinite(float value) { return MagnitudeKey(value) < kInfinityKey; }

/// K = max(1, round(density * n)), at most n; halves round up. 0 only for n = 0.
inline std::size_t EntriesToSend(std::size_t n, double density) {
  const double wanted = std::floor(density * static_cast<double>(n) + 0.5);
  if (!(wanted >= 1.0)) return std::min<std::size_t>(n, 1);
  return wanted >= static_cast<double>(n) ? n : static_cast<std::size_t>(wanted);
}

/// As above, but a `fixed_count` other than 0 overrides the density.
inline std::size_t EntriesToSend(std::size_t n, double density, std::size_t fixed_count) {
  return fixed_count == 0 ? EntriesToSend(n, density) : std::min(n, fixed_count);
}

}  // namespace weir
