#pragma once

#include <cstdint>

#include "compression/dgc/dgc_math.h"

/// What becomes of an entry's momentum when it is sent, on single numbers, written once for every
/// kernel (as dgc_math.h).
///
/// An entry that waited for T steps has T gradients in v, and most of what momentum makes of them
/// is still to come from u: its tail. Kept, it comes late; dropped, it never comes.
namespace weir {

enum class Masking : std::uint8_t {
  kNone,   ///< u stays.
  kAll,    ///< u = 0: momentum factor masking (Lin et al., ICLR 2018, section 3.2).
  kRatio,  ///< u *= min(1, |u| / |v|): what is sent in each step keeps its momentum.
  /// v and the tail, u m / (1 - m), are sent, and u = 0. Entries are selected by that sum.
  kFlush,
  /// u stays, and entries are selected as with kFlush: one waits whose v its momentum is about to
  /// take back.
  kAuto,
};

/// Returns u's tail, what it gives v in all steps to come, as a factor of u: m / (1 - m), for
/// vanilla and for Nesterov momentum. 0 where entries are selected by v alone.
constexpr float TailOf(Masking masking, float m) {
  return masking == Masking::kFlush || masking == Masking::kAuto ? m / (1.0f - m) : 0.0f;
}
/// Returns the same, if it is sent with an entry.
constexpr float SentTailOf(Masking masking, float m) {
  return masking == Masking::kFlush ? TailOf(masking, m) : 0.0f;
}

/// Returns v with u's tail: by TailOf what an entry is selected by, by SentTailOf what it sends,
/// before rounding.
constexpr float WithTail(float tail, float u, float v) { return tail == 0.0f ? v : v + tail * u; }

/// Returns true if u stays as it is where an entry is sent.
constexpr bool KeepsMomentum(Masking masking) {
  return masking == Masking::kNone || masking == Masking::kAuto;
}

/// Returns the u of an entry that was sent; `u` and `v` are as they were before.
constexpr float MaskedMomentum(Masking masking, float u, float v) {
  switch (masking) {
    case Masking::kNone:
    case Masking::kAuto:
      return u;
    case Masking::kRatio: {
      const float of_u = MagnitudeOfKey(MagnitudeKey(u));
      const float of_v = MagnitudeOfKey(MagnitudeKey(v));
      return of_u < of_v ? u * (of_u / of_v) : u;
    }
    case Masking::kAll:
    case Masking::kFlush:
      break;
  }
  return 0.0f;
}

}  // namespace weir
