#include "coordinator/routes/gpu_payload_route.h"

#include <algorithm>

#include "coordinator/network/set_network.h"

namespace weir {

bool GpuPayloadRoute::Suits(const GradientSlices& gradients) {
  return std::ranges::all_of(gradients.all(),
                             [](const GradientSlice& slice) { return slice.gpu != nullptr; });
}

void GpuPayloadRoute::Prepare(bool empty) {
  empty_ = empty;
  GpuCompression& compression = gradients().gpu_compression();
  bytes_ = compression.PlacePayloads();
  if (empty) compression.WriteZeros();
}

void GpuPayloadRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) {
    gradients().EncodeAllOnGpu();
    gradients().gpu_compression().ReserveMerge(merged_ranks());
  }
  // Later work was queued after the exchange.
}

nccl::Communicator& GpuPayloadRoute::communicator() const {
  return network_.gpus().Between(*gradients().step().gpus, gradients().gpu_stream().gpu());
}

void GpuPayloadRoute::QueueResults() {
  if (!empty_) Deliver();
  gradients().ResultsQueued();
}

}  // namespace weir
