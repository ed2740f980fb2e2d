#include "ops/collectives/allreduce.h"

namespace weir {

Allreduce::Allreduce(Transport& transport, const HostGrid* grid)
    : whole_(transport), chunked_(transport) {
  if (grid != nullptr) hierarchical_.emplace(transport, *grid);
}

void Allreduce::set_chunk_bytes(std::size_t bytes) {
  chunked_.set_chunk_bytes(bytes);
  if (hierarchical_) hierarchical_->set_chunk_bytes(bytes);
}

Collective& Allreduce::Bind(const void* in, void* out, std::int64_t elements, DType dtype,
                            const Reduction& reduction) {
  CheckReduction(dtype, reduction);
  const ReduceTask task{.in = static_cast<const std::byte*>(in),
                        .out = static_cast<std::byte*>(out),
                        .elements = static_cast<std::size_t>(elements),
                        .dtype = dtype,
                        .reduction = reduction};
  if (task.bytes() <= kWholeBytes) {
    whole_.Bind(task);
    return whole_;
  }
  if (hierarchical_ && HierarchicalAllreduce::Fits(dtype, reduction)) {
    hierarchical_->Bind(task);
    return *hierarchical_;
  }
  chunked_.Bind(task);
  return chunked_;
}

}  // namespace weir
