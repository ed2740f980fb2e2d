#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "ops/collectives/alltoall.h"
#include "ops/collectives/broadcast.h"
#include "ops/collectives/collectives.h"
#include "ops/grouped/grouped_allgather.h"
#include "ops/grouped/grouped_allreduce.h"
#include "ops/grouped/grouped_reduce_scatter.h"

namespace weir {

class SetNetwork;

/// Collectives of a set's ranks, on the host's memory. Each is made when it is first needed.
class HostCollectives final : public Collectives {
 public:
  explicit HostCollectives(SetNetwork& network) : network_(network) {}

  /// Sets the chunk size of the next reduction: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes) { chunk_bytes_ = bytes; }

  Collective& Allreduce(std::span<const Array> arrays, const Reduction& reduction) override;
  Collective& Allgather(std::span<const GatheredArray> arrays,
                        std::span<const std::size_t> bytes) override;
  Collective& Broadcast(std::span<std::byte> data, int root) override;
  Collective& Alltoall(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
                       std::span<std::byte> out,
                       std::span<const std::size_t> receive_bytes) override;
  Collective& ReduceScatter(std::span<const Array> arrays, std::span<const std::size_t> offsets,
                            const Reduction& reduction) override;

 private:
  SetNetwork& network_;
  std::size_t chunk_bytes_ = ChunkStream::kDefaultChunkBytes;
  std::unique_ptr<GroupedAllreduce> allreduce_;
  std::unique_ptr<GroupedAllgather> allgather_;
  std::unique_ptr<weir::Broadcast> broadcast_;
  std::unique_ptr<weir::Alltoall> alltoall_;
  std::unique_ptr<GroupedReduceScatter> reduce_scatter_;
};

}  // namespace weir
