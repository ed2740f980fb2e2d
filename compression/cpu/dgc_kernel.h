#pragma once

#include <cstddef>
#include <cstdint>

#include "compression/cpu/candidate_list.h"
#include "compression/dgc/dgc_math.h"
#include "compression/dgc/masking.h"

/// DGC's passes over a tensor, for the CPU at hand (Google Highway, dispatched at run time) and
/// with the same bits on every one. They work on entries [begin, end) of arrays of at most 2^32 - 1
/// floats, of any alignment. Thread-safe for disjoint ranges and lists.
namespace weir::cpu {

/// One step's new gradient and the memory it is added to.
struct Accumulation {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;               ///< Momentum.
  float tail = 0.0f;            ///< TailOf.
  float gradient_scale = 1.0f;  ///< Multiplies every gradient entry first.
  const float* gradient = nullptr;
  const float* u = nullptr;  ///< Not used with Momentum::kNone.
  const float* v = nullptr;
  float* new_u = nullptr;  ///< Where the result goes: over u, or elsewhere.
  float* new_v = nullptr;
};

/// v += AdvanceMomentum(momentum, m, g, u) with g = gradient * gradient_scale, or 0 where that is
/// not finite. Returns the number of those. Moves 20 bytes an entry, to or from each of five
/// places.
std::uint64_t Accumulate(const Accumulation& step, std::size_t begin, std::size_t end);

/// Accumulates, and collects in the same pass.
std::uint64_t AccumulateAndCollect(const Accumulation& step, std::size_t begin, std::size_t end,
                                   CandidateList& candidates);

/// What entries are collected by: WithTail.
struct Collected {
  const float* u = nullptr;  ///< Used where `tail` is not 0.
  const float* v = nullptr;
  float tail = 0.0f;  ///< TailOf.
};

/// Appends every entry whose magnitude is *not less than* candidates.threshold(). NaN is never
/// less, so it cannot hide.
void Collect(const Collected& from, std::size_t begin, std::size_t end, CandidateList& candidates);

}  // namespace weir::cpu
