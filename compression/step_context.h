#pragma once

#include <cstdint>
#include <optional>

namespace weir {

class ThreadPool;

/// What a compressor needs to know about the step it works in (process::Context has the same). Same
/// on all ranks, but for gradient_scale, rank and pool.
struct StepContext {
  std::int64_t step = 0;       ///< Optimizer step, from 0.
  bool dense_phase = false;    ///< Before rampup_begin_step: gradients travel uncompressed.
  double density = 1.0;        ///< Fraction of entries to send this step (Schedule).
  float learning_rate = 0.0f;  ///< Of the tensor's parameter group, this step.
  float previous_learning_rate = 0.0f;  ///< The step before; equal to learning_rate at step 0.
  /// Every gradient entry is multiplied by this before anything else: 1 / loss scale, times the
  /// local clipping coefficient.
  float gradient_scale = 1.0f;
  /// Momentum (Adam's beta1) in this step; empty: that of the compressor's options.
  std::optional<double> momentum{};
  float MomentumOr(float otherwise) const {
    return momentum ? static_cast<float>(*momentum) : otherwise;
  }
  /// Momentum over that of the step before; 1 if either is 0.
  double momentum_ratio = 1.0;
  /// Of this process in the job: random numbers that are not to be alike on all ranks take it in.
  int rank = 0;
  /// As `rank`, of a server's answer: with the draws of a push it would round that push again, and
  /// be wrong on average.
  static constexpr int kAnswer = -1;
  /// Shares the work of this step's calls, if any. Results do not depend on it. This rank's own.
  ThreadPool* pool = nullptr;
};

}  // namespace weir
