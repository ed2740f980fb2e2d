#include "coordinator/rank/connection.h"

#include <fmt/core.h>

#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "coordinator/work/hosts.h"
#include "ops/transport/subset_transport.h"
#include "weir/error.h"

namespace weir {

Connection::Connection(const Settings& settings, const RankEnvironment& environment,
                       EngineGauges& gauges, const std::function<void()>& wake)
    : environment_(environment),
      gauges_(gauges),
      transport_(environment.connect()),
      wakes_(transport_->SetWake(wake)),
      speed_(environment.speed_bounds) {
  const int rank = transport_->rank();
  const int size = transport_->size();
  const int ranks = size - settings.servers;
  if (rank >= ranks) {
    throw InvalidArgument(fmt::format(
        "process {} of {} is one of {} summation servers (WEIR_SERVERS) and can have no engine; "
        "start the job with weirrun --servers, which runs weir-server there",
        rank, size, settings.servers));
  }
  gauges_.last_heard.SetPeers(size);
  meter_ = std::make_unique<MeteredTransport>(
      *transport_, LinksOf(environment.hosts, rank, size, environment.local_size),
      MeteredTransport::Use{.bytes = &gauges_.traffic_of(TrafficOp::kOther)}, &gauges_.last_heard);
  server_links_ = std::make_unique<ServerLinks>(*meter_, settings.servers, wake);
  if (settings.servers == 0) return;
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  ranks_ = std::make_unique<SubsetTransport>(*meter_, std::move(members));
}

void Connection::StoreTotals() {
  const NetworkTotals totals = transport_->totals();
  gauges_.sent_bytes.store(totals.sent_bytes, std::memory_order_relaxed);
  gauges_.received_bytes.store(totals.received_bytes, std::memory_order_relaxed);
  gauges_.sent_messages.store(totals.sent_messages, std::memory_order_relaxed);
  gauges_.received_messages.store(totals.received_messages, std::memory_order_relaxed);
}

void Connection::Close(bool failed) {
  // Before the transport closes, so that it asks nothing of a network that has failed.
  if (environment_.disconnect) environment_.disconnect(failed);
  transport_->Close();
}

}  // namespace weir
