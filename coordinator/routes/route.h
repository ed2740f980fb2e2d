#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coordinator/gradients/gradient_slices.h"
#include "coordinator/work/bucket.h"
#include "ops/collective.h"

namespace weir {

/// One way for the gradients of a bucket to travel through a step: its stages, what each of them
/// does, and the collectives between them. Made when a step of the bucket first takes it, and kept
/// for the next one. Belongs to whoever holds the bucket.
class Route {
 public:
  explicit Route(GradientSlices& gradients) : gradients_(gradients) {}
  virtual ~Route() = default;
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;

  /// Between steps: makes the buffers ready for the next one. `empty`: this rank contributes
  /// nothing in it and wants no result.
  virtual void Prepare(bool empty) = 0;
  /// What the bucket goes through in that step, a gate aside. The first stage takes the gradients
  /// in and the last one hands the results out: a rank whose step is empty goes through neither.
  virtual std::span<const BucketStage> stages() const = 0;
  /// Runs a worker's stage.
  virtual void Run(BucketStage stage) = 0;
  /// What a worker's stage has given to a GPU is done before the next stage starts. Otherwise that
  /// follows in the GPU's stream, and the host waits at the last stage alone.
  virtual bool awaits_gpu(BucketStage /*stage*/) const { return true; }
  /// Before Bind, of a route that reduces: the chunks in which large arrays travel.
  virtual void UseChunksOf(std::size_t /*bytes*/) {}
  /// The collective of an exchange, counted from 0, with its buffers bound.
  virtual Collective* Bind(std::size_t exchange) = 0;
  /// The run failed: what this rank sent for others counts as not sent. What it sent of its own is
  /// taken back by GradientSlices::Revert.
  virtual void Revert() {}
  /// What this rank contributes to the step, as far as it is known.
  virtual std::uint64_t wire_bytes() const = 0;

 protected:
  GradientSlices& gradients() const { return gradients_; }

 private:
  GradientSlices& gradients_;
};

}  // namespace weir
