#pragma once

#include <cstddef>

#include "coordinator/routes/route.h"
#include "ops/nccl/communicator.h"

namespace weir {

class SetNetwork;

/// Common part of routes whose payloads are made, exchanged over NCCL and turned into updates
/// in the memory of GPUs. The step, on which all ranks agree, tells the length of payloads,
/// so they are sent without frames.
class GpuPayloadRoute : public Route {
 public:
  /// True if kernels compress all of these gradients.
  static bool Suits(const GradientSlices& gradients);

  void Prepare(bool empty) override;
  void Run(BucketStage stage) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 protected:
  /// The step must know the GPUs of all ranks (GroupStep::gpus).
  GpuPayloadRoute(GradientSlices& gradients, SetNetwork& network)
      : Route(gradients), network_(network) {}

  SetNetwork& network() const { return network_; }
  /// Size of this rank's payloads.
  std::size_t bytes() const { return bytes_; }
  /// Returns NCCL between the GPUs of the step.
  nccl::Communicator& communicator() const;
  /// Called while the exchange is under way.
  void QueueResults();

 private:
  /// Turns the exchanged payloads into updates. Belongs to the network thread, so it must not wait
  /// for the exchange, after which it is queued.
  virtual void Deliver() = 0;
  /// Number of ranks whose payloads it merges.
  virtual std::size_t merged_ranks() const = 0;

  SetNetwork& network_;
  bool empty_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace weir
