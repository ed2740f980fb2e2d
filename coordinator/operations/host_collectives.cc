#include "coordinator/operations/host_collectives.h"

#include "coordinator/network/set_network.h"

namespace weir {

Collective& HostCollectives::Allreduce(std::span<const Array> arrays, const Reduction& reduction) {
  if (!allreduce_)
    allreduce_ =
        std::make_unique<GroupedAllreduce>(network_.transport(), network_.allreduce_grid());
  allreduce_->set_chunk_bytes(chunk_bytes_);
  return allreduce_->Bind(arrays, reduction);
}

Collective& HostCollectives::Allgather(std::span<const GatheredArray> arrays,
                                       std::span<const std::size_t> bytes) {
  if (!allgather_)
    allgather_ =
        std::make_unique<GroupedAllgather>(network_.transport(), network_.allgather_grid());
  allgather_->Bind(arrays, bytes);
  return *allgather_;
}

Collective& HostCollectives::Broadcast(std::span<std::byte> data, int root) {
  if (!broadcast_) broadcast_ = std::make_unique<weir::Broadcast>(network_.transport());
  broadcast_->Bind(data, root);
  return *broadcast_;
}

Collective& HostCollectives::Alltoall(std::span<const std::byte> in,
                                      std::span<const std::size_t> send_bytes,
                                      std::span<std::byte> out,
                                      std::span<const std::size_t> receive_bytes) {
  if (!alltoall_) alltoall_ = std::make_unique<weir::Alltoall>(network_.transport());
  alltoall_->Bind(in, send_bytes, out, receive_bytes);
  return *alltoall_;
}

Collective& HostCollectives::ReduceScatter(std::span<const Array> arrays,
                                           std::span<const std::size_t> offsets,
                                           const Reduction& reduction) {
  if (!reduce_scatter_)
    reduce_scatter_ = std::make_unique<GroupedReduceScatter>(network_.transport());
  reduce_scatter_->set_chunk_bytes(chunk_bytes_);
  reduce_scatter_->Bind(arrays, offsets, reduction);
  return *reduce_scatter_;
}

}  // namespace weir
