#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/arrays/gather_task.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/host_grid.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/transport.h"

namespace weir {

/// All-gather in which each rank's bytes cross to each other host once, to the rank of the same
/// place, which passes them on to the others of its host, chunk by chunk as they arrive.
class HierarchicalAllgather final : public Collective {
 public:
  /// The ranks of `transport` are those of the grid.
  HierarchicalAllgather(Transport& transport, const HostGrid& grid);

  void Bind(const GatherTask& task) { task_ = task; }

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  /// Messages between this rank and one other.
  struct Exchange {
    int rank = -1;
    ChunkStream to;
    ChunkStream from;
  };
  /// Exchange with a rank of the same host: one host's bytes after the other, with equal tags.
  struct Neighbour {
    int place = 0;
    Exchange exchange;
    int hosts_sent = 0;
    int hosts_received = 0;
  };
  void StartSend(Neighbour& neighbour);
  void StartReceive(Neighbour& neighbour);
  bool Poll(Neighbour& neighbour);
  /// Returns the rank of a place on the i-th host after this one.
  int RankAfter(int i, int place) const;
  /// Number of bytes from the i-th host after this one that may be passed on.
  std::size_t Arrived(int i) const;

  Transport& transport_;
  const HostGrid grid_;
  GatherTask task_;
  std::vector<Exchange> across_;  ///< By distance of the host from this one, from 1.
  std::vector<Neighbour> neighbours_;
  std::uint32_t operation_ = 0;
};

}  // namespace weir
