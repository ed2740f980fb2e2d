#pragma once

#include <cstddef>
#include <span>

#include "ops/collectives/collectives.h"
#include "ops/nccl/operations.h"

namespace weir::nccl {

/// The collectives of a communicator, on the GPU's memory.
class Collectives final : public weir::Collectives {
 public:
  explicit Collectives(Communicator& communicator)
      : communicator_(communicator),
        allreduce_(communicator),
        allgather_(communicator),
        broadcast_(communicator),
        alltoall_(communicator),
        reduce_scatter_(communicator) {}

  Communicator& communicator() const { return communicator_; }

  Collective& Allreduce(std::span<const Array> arrays, const Reduction& reduction) override {
    allreduce_.Bind(arrays, reduction);
    return allreduce_;
  }
  Collective& Allgather(std::span<const GatheredArray> arrays,
                        std::span<const std::size_t> bytes) override {
    allgather_.Bind(arrays, bytes);
    return allgather_;
  }
  Collective& Broadcast(std::span<std::byte> data, int root) override {
    broadcast_.Bind(data, root);
    return broadcast_;
  }
  Collective& Alltoall(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
                       std::span<std::byte> out,
                       std::span<const std::size_t> receive_bytes) override {
    alltoall_.Bind(in, send_bytes, out, receive_bytes);
    return alltoall_;
  }
  Collective& ReduceScatter(std::span<const Array> arrays, std::span<const std::size_t> offsets,
                            const Reduction& reduction) override {
    reduce_scatter_.Bind(arrays, offsets, reduction);
    return reduce_scatter_;
  }

 private:
  Communicator& communicator_;
  nccl::Allreduce allreduce_;
  nccl::Allgather allgather_;
  nccl::Broadcast broadcast_;
  nccl::Alltoall alltoall_;
  nccl::ReduceScatter reduce_scatter_;
};

}  // namespace weir::nccl
