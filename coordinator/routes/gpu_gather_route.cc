#include "coordinator/routes/gpu_gather_route.h"

#include <vector>

#include "coordinator/network/set_network.h"

namespace weir {

void GpuGatherRoute::Prepare(bool empty) {
  GpuPayloadRoute::Prepare(empty);
  gathered_.Reserve(gradients().gpu_stream().gpu(), GpuMemory::Kind::kDevice,
                    bytes() * static_cast<std::size_t>(network().size()));
}

std::span<const BucketStage> GpuGatherRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kMerge};
  return kStages;
}

std::size_t GpuGatherRoute::merged_ranks() const {
  return static_cast<std::size_t>(network().size());
}

void GpuGatherRoute::Deliver() {
  gradients().gpu_compression().MergeGathered(gathered_.data(), network().size());
}

Collective* GpuGatherRoute::Bind(std::size_t) {
  if (!allgather_) {
    allgather_.emplace(communicator());
    allgather_->Join(gradients().gpu_stream(), [this] { QueueResults(); });
  }
  const auto ranks = static_cast<std::size_t>(network().size());
  const GatheredArray array{gradients().gpu_compression().payloads(),
                            {gathered_.data(), bytes() * ranks}};
  const std::vector<std::size_t> lengths(ranks, bytes());
  allgather_->Bind({&array, 1}, lengths);
  return &*allgather_;
}

}  // namespace weir
