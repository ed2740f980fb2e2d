#pragma once

#include <cstdint>

#include "compression/memory/finite.h"

/// The recursions of momentum on single numbers, written once for the CPU and for kernels. Each
/// operation rounds once, with no fused multiply-add. Two of them are Nesterov's: with u = mu * m
/// they are the same numbers, rounded elsewhere, so their bits differ and neither can replace the
/// other.
namespace weir {

/// Momentum of DGC and of what stays dense (Lin et al., ICLR 2018, section 3). Momentum m, new
/// gradient g, old u:
/// kVanilla u = m * u + g, direction u;  kNesterov u = m * (u + g), direction u + g;
/// kNone has no u, direction g.
enum class Momentum : std::uint8_t { kNone, kVanilla, kNesterov };

/// Advances u and returns the direction, which momentum SGD applies and DGC adds to v.
constexpr float AdvanceMomentum(Momentum momentum, float m, float g, float& u) {
  switch (momentum) {
    case Momentum::kVanilla:
      u = m * u + g;
      return u;
    case Momentum::kNesterov:
      u = m * (u + g);
      return u + g;
    case Momentum::kNone:
      break;
  }
  return g;
}

/// Momentum in front of a codec (NesterovMomentum, as BytePS has it): advances m, and returns the
/// direction.
constexpr float AdvanceNesterov(float mu, float scaled, float& m, std::uint32_t& non_finite) {
  m = FiniteOrZero(mu * m + scaled, non_finite);
  return scaled + mu * m;
}

}  // namespace weir
