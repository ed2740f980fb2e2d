#include "coordinator/routes/gpu_array_route.h"

#include "coordinator/process_set.h"
#include "coordinator/routes/gpu_gather_route.h"

namespace weir {

bool GpuArrayRoute::Suits(const GradientSlices& gradients) {
  return GpuGatherRoute::Suits(gradients);
}

void GpuArrayRoute::Prepare(bool empty) {
  empty_ = empty;
  GpuCompression& compression = gradients().gpu_compression();
  bytes_ = compression.PlacePayloads();
  if (empty) compression.WriteZeros();
}

std::span<const BucketStage> GpuArrayRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kUnpack};
  return kStages;
}

void GpuArrayRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) gradients().EncodeAllOnGpu();
  // Unpacking was queued behind the exchange.
}

void GpuArrayRoute::QueueResults() {
  if (!empty_) gradients().gpu_compression().DeliverReduced();
  gradients().ResultsQueued();
}

// All payloads are one array: what lies between them is summed, too, and nobody reads it.
Collective* GpuArrayRoute::Bind(std::size_t) {
  if (!allreduce_) {
    allreduce_.emplace(
        set_.gpu_network().Between(*gradients().step().gpus, gradients().gpu_stream().gpu()));
    allreduce_->Join(gradients().gpu_stream(), [this] { QueueResults(); });
  }
  const DType dtype = gradients().summable().value();
  std::byte* const payloads = gradients().gpu_compression().payloads().data();
  const Array array{payloads, payloads, static_cast<std::int64_t>(bytes_ / SizeOf(dtype)), dtype};
  allreduce_->Bind({&array, 1}, gradients().step().reduction);
  return &*allreduce_;
}

}  // namespace weir
