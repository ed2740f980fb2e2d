#pragma once

#include <cstddef>

#include "coordinator/routes/route.h"
#include "ops/nccl/communicator.h"

namespace weir {

class SetNetwork;

/// What routes have in common whose payloads are made, exchanged over NCCL and turned into updates
/// in the memory of GPUs. How long payloads are follows from the step, on which all ranks agree, so
/// they travel without frames.
class GpuPayloadRoute : public Route {
 public:
  /// Kernels compress all of these gradients.
  static bool Suits(const GradientSlices& gradients);

  void Prepare(bool empty) override;
  void Run(BucketStage stage) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 protected:
  /// The step knows the GPUs of all ranks (GroupStep::gpus).
  GpuPayloadRoute(GradientSlices& gradients, SetNetwork& network)
      : Route(gradients), network_(network) {}

  SetNetwork& network() const { return network_; }
  /// Of this rank's payloads.
  std::size_t bytes() const { return bytes_; }
  /// Between the GPUs of the step.
  nccl::Communicator& communicator() const;
  /// While the exchange is under way.
  void QueueResults();

 private:
  /// Turns what was exchanged into updates. Belongs to the network thread, so it may not wait for
  /// the exchange, behind which it is queued.
  virtual void Deliver() = 0;
  /// Whose payloads it merges: so many ranks'.
  virtual std::size_t merged_ranks() const = 0;

  SetNetwork& network_;
  bool empty_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace weir
