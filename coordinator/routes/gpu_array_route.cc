#include "coordinator/routes/gpu_array_route.h"

#include "coordinator/process_set.h"

namespace weir {

std::span<const BucketStage> GpuArrayRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kUnpack};
  return kStages;
}

void GpuArrayRoute::Deliver() { gradients().gpu_compression().DeliverReduced(); }

// All payloads are one array: what lies between them is summed, too, and nobody reads it.
Collective* GpuArrayRoute::Bind(std::size_t) {
  if (!allreduce_) {
    allreduce_.emplace(communicator());
    allreduce_->Join(gradients().gpu_stream(), [this] { QueueResults(); });
  }
  const DType dtype = gradients().summable().value();
  std::byte* const payloads = gradients().gpu_compression().payloads().data();
  const Array array{payloads, payloads, static_cast<std::int64_t>(bytes() / SizeOf(dtype)), dtype};
  allreduce_->Bind({&array, 1}, gradients().step().reduction);
  return &*allreduce_;
}

}  // namespace weir
