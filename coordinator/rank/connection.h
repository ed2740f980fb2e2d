#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "coordinator/rank/rank_environment.h"
#include "coordinator/servers/server_links.h"
#include "coordinator/work/network_speed.h"
#include "metrics/gauges/engine_gauges.h"
#include "ops/transport/metered_transport.h"
#include "ops/transport/transport.h"
#include "weir/network_totals.h"
#include "weir/settings.h"

namespace weir {

/// A rank's connection: the transport that its process made, metered, and over it the network of
/// the ranks and the links to summation servers. Network thread only, except const members of what
/// it returns. The objects stay after Close, as a program may still be making a bucket with them.
class Connection {
 public:
  /// `wake` is called, by any thread, when there is something to poll for. Throws what
  /// RankEnvironment::connect throws, and InvalidArgument in the place of a server.
  Connection(const Settings& settings, const RankEnvironment& environment, EngineGauges& gauges,
             const std::function<void()>& wake);

  /// Returns the network of the ranks, without servers.
  Transport& network_of_ranks() { return ranks_ ? *ranks_ : *meter_; }
  MeteredTransport& meter() { return *meter_; }
  /// Returns the speed of what goes through the meter.
  NetworkSpeed& speed() { return speed_; }
  ServerLinks& server_links() { return *server_links_; }

  /// True if the transport calls `wake`; otherwise it has to be polled.
  bool wakes() const { return wakes_; }
  /// Returns the time of the next poll that is due even without a call of `wake`; 0: none is.
  std::int64_t next_due_ns() const { return transport_->next_due_ns(); }
  /// Counts what begins now as negotiation.
  void BeginNegotiation() { Begin(TrafficOp::kNegotiation); }
  /// Counts what begins now as the exchange with summation servers.
  void BeginServing() { Begin(TrafficOp::kServing); }
  /// Stores the totals in the gauges.
  void StoreTotals();
  /// Closes the transport. `failed`: as for RankEnvironment::disconnect.
  void Close(bool failed);

 private:
  void Begin(TrafficOp op) { meter_->Begin({.bytes = &gauges_.traffic_of(op)}); }

  const RankEnvironment& environment_;
  EngineGauges& gauges_;
  const std::unique_ptr<Transport> transport_;
  const bool wakes_;
  std::unique_ptr<MeteredTransport> meter_;
  NetworkSpeed speed_;
  std::unique_ptr<Transport> ranks_;  ///< Null without servers: the meter is that network.
  std::unique_ptr<ServerLinks> server_links_;
};

}  // namespace weir
