#include "coordinator/routes/gpu_array_route.h"

#include "coordinator/network/set_network.h"

namespace weir {

std::span<const BucketStage> GpuArrayRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kUnpack};
  return kStages;
}

void GpuArrayRoute::Prepare(bool empty) {
  GpuPayloadRoute::Prepare(empty);
  if (!gradients().gpu_compression().undoes_from_payloads()) return;
  sums_.Reserve(gradients().gpu_stream().gpu(), GpuMemory::Kind::kDevice, bytes());
}

bool GpuArrayRoute::DividesHere() const {
  return gradients().summable() == DType::kBFloat16 &&
         gradients().step().reduction.op == ReduceOp::kAverage;
}

std::size_t GpuArrayRoute::merged_ranks() const {
  return DividesHere() ? static_cast<std::size_t>(network().size()) : 1;
}

std::byte* GpuArrayRoute::sums() const {
  return sums_.size() > 0 ? sums_.data() : gradients().gpu_compression().payloads().data();
}

void GpuArrayRoute::Deliver() {
  gradients().gpu_compression().DeliverReduced(sums(), merged_ranks());
}

// All payloads are one array: gaps between them are summed, too, and nobody reads those.
Collective* GpuArrayRoute::Bind(std::size_t) {
  if (!allreduce_) {
    allreduce_.emplace(communicator());
    allreduce_->Join(gradients().gpu_stream(), [this] { QueueResults(); });
  }
  const DType dtype = gradients().summable().value();
  std::byte* const payloads = gradients().gpu_compression().payloads().data();
  const Array array{payloads, sums(), static_cast<std::int64_t>(bytes() / SizeOf(dtype)), dtype};
  Reduction reduction = gradients().step().reduction;
  if (DividesHere()) reduction.op = ReduceOp::kSum;
  allreduce_->Bind({&array, 1}, reduction);
  return &*allreduce_;
}

}  // namespace weir
