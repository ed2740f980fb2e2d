#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coordinator/gradients/gradient_slices.h"
#include "coordinator/work/bucket.h"
#include "ops/collectives/collective.h"

namespace weir {

/// A way for the gradients of a bucket to travel through a step: its stages, their work, and the
/// collectives between them. Made when a step of the bucket first takes it, and kept for the next
/// one. Belongs to the holder of the bucket.
class Route {
 public:
  explicit Route(GradientSlices& gradients) : gradients_(gradients) {}
  virtual ~Route() = default;
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;

  /// Called between steps: prepares the buffers for the next one. `empty`: this rank contributes
  /// nothing in it and wants no result.
  virtual void Prepare(bool empty) = 0;
  /// Stages of the bucket in that step, without a gate. The first stage reads the gradients and the
  /// last one delivers the results: a rank whose step is empty runs neither.
  virtual std::span<const BucketStage> stages() const = 0;
  /// Runs a worker's stage.
  virtual void Run(BucketStage stage) = 0;
  /// True if the next stage needs a worker's stage to be done on the GPU. Otherwise the next one
  /// follows in the GPU's stream, and the host waits only at the last stage.
  virtual bool awaits_gpu(BucketStage /*stage*/) const { return true; }
  /// Sets, before Bind, the chunk size for large arrays of a route that reduces.
  virtual void UseChunksOf(std::size_t /*bytes*/) {}
  /// Returns the collective of an exchange, counted from 0, with its buffers bound.
  virtual Collective* Bind(std::size_t exchange) = 0;
  /// Called when the run failed: what this rank sent for others counts as not sent.
  /// GradientSlices::Revert takes back its own part.
  virtual void Revert() {}
  /// Returns this rank's contribution to the step in bytes, as far as it is known.
  virtual std::uint64_t wire_bytes() const = 0;

 protected:
  GradientSlices& gradients() const { return gradients_; }

 private:
  GradientSlices& gradients_;
};

}  // namespace weir
