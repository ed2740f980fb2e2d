#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/arrays/reduce.h"
#include "ops/collectives/chunked_allreduce.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/direct_allgather.h"
#include "ops/collectives/host_grid.h"
#include "ops/collectives/reduce_scatter.h"
#include "ops/transport/subset_transport.h"
#include "ops/transport/transport.h"

namespace weir {

/// All-reduce of a large array in which each value crosses between two hosts once, not once for
/// every rank: a reduce-scatter on each host, then an all-reduce of each part among the ranks that
/// hold it, then an all-gather on each host.
///
/// Values are combined in rank order on each host, then in the order of the part's holders:
/// all ranks get the same bits, but not those of a flat exchange. Both scale factors are
/// applied on the hosts, and an average is the average of the hosts' averages; fp16 and bf16
/// are rounded on each of the two levels.
class HierarchicalAllreduce final : public Collective {
 public:
  /// Takes part in operations on `transport`, whose ranks are those of the grid.
  HierarchicalAllreduce(Transport& transport, const HostGrid& grid);

  /// Returns false if two levels would change more than roundings: integers that are scaled or
  /// averaged would be truncated twice; a product of fp16 or bf16 may leave its type's range on a
  /// host, and so may a minimum before its second factor.
  static bool Fits(DType dtype, const Reduction& reduction);

  /// Sets the chunk size of the next Bind: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes);
  void Bind(const ReduceTask& task);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  enum class Phase { kScatter, kAcross, kGather, kDone };

  SubsetTransport local_network_;
  SubsetTransport across_network_;
  ReduceScatter scatter_;
  ChunkedAllreduce across_allreduce_;
  DirectAllgather gather_;
  std::vector<std::size_t> offsets_;  ///< Begins of the places' parts, in elements.
  std::vector<std::size_t> byte_offsets_;
  std::uint32_t operation_ = 0;
  Phase phase_ = Phase::kDone;
};

}  // namespace weir
