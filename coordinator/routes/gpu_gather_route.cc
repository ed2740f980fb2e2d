#include "coordinator/routes/gpu_gather_route.h"

#include <algorithm>
#include <vector>

#include "coordinator/process_set.h"

namespace weir {

bool GpuGatherRoute::Suits(const GradientSlices& gradients) {
  return std::ranges::all_of(gradients.all(), [](const GradientSlice& slice) {
    return slice.compressor->gpu() != nullptr;
  });
}

void GpuGatherRoute::Prepare(bool empty) {
  empty_ = empty;
  GpuCompression& compression = gradients().gpu_compression();
  bytes_ = compression.PlacePayloads();
  gathered_.Reserve(gradients().gpu_stream().gpu(), GpuMemory::Kind::kDevice,
                    bytes_ * static_cast<std::size_t>(set_.size()));
  if (empty) compression.WriteZeros();
}

std::span<const BucketStage> GpuGatherRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kMerge};
  return kStages;
}

void GpuGatherRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) gradients().EncodeAllOnGpu();
  // Merging was queued behind the exchange.
}

void GpuGatherRoute::QueueResults() {
  if (!empty_) gradients().gpu_compression().MergeGathered(gathered_.data(), set_.size());
  gradients().ResultsQueued();
}

Collective* GpuGatherRoute::Bind(std::size_t) {
  if (!allgather_) {
    allgather_.emplace(
        set_.gpu_network().Between(*gradients().step().gpus, gradients().gpu_stream().gpu()));
    allgather_->Join(gradients().gpu_stream(), [this] { QueueResults(); });
  }
  const GatheredArray array{gradients().gpu_compression().payloads(),
                            {gathered_.data(), bytes_ * static_cast<std::size_t>(set_.size())}};
  const std::vector<std::size_t> bytes(static_cast<std::size_t>(set_.size()), bytes_);
  allgather_->Bind({&array, 1}, bytes);
  return &*allgather_;
}

}  // namespace weir
