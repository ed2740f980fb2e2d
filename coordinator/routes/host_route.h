#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/route.h"
#include "ops/collectives/chunked_allreduce.h"
#include "ops/collectives/host_grid.h"
#include "ops/exchanges/host_frame_exchange.h"
#include "ops/transport/subset_transport.h"

namespace weir {

/// Two levels, as in BytePS: the gradients of a host are averaged dense, in shared
/// memory. The host's first rank compresses the average, and one frame per host goes
/// to all. That rank keeps the unsent part for its host: N in the formulas of
/// compression is the number of hosts.
class HostRoute final : public Route {
 public:
  HostRoute(GradientSlices& gradients, Transport& transport, const HostGrid& grid);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return coder_.frame().size(); }

 private:
  bool halves() const { return gradients().step().halves_inside_hosts; }
  /// Packs this rank's part of its host's average.
  void Pack();
  /// Encodes the host's frame, on its first rank.
  void Encode();

  Transport& transport_;
  const HostGrid grid_;
  SubsetTransport local_network_;
  ChunkedAllreduce average_;
  std::vector<std::uint16_t> halves_;  ///< The staging buffer as fp16, if that is sent.
  FrameCoder coder_;
  std::unique_ptr<HostFrameExchange> exchange_;  ///< Made anew when frames become longer.
};

}  // namespace weir
