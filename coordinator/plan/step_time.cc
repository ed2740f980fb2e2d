#include "coordinator/plan/step_time.h"

#include <algorithm>

namespace weir {
namespace {

/// Part of a link that a direct reduction among more than two hosts keeps busy: that of dense steps
/// on four hosts, between the 0.98 at 100 Mb/s and the 0.94 at 1 Gb/s
/// (docs/benchmarks/slow-network.md).
constexpr double kBusyInReduction = 0.96;

/// Phases between hosts, each with messages that leave side by side.
int PhasesOf(WireRoute route) {
  return route == WireRoute::kSparseAllgather || route == WireRoute::kHostAllgather ? 1 : 2;
}

/// Bytes that each rank sends in all, of which it sends the same to every other one.
double BytesOfRank(WireRoute route, int ranks, const ExchangeBytes& bytes) {
  const RouteTraffic traffic = TrafficOf(ranks, bytes.dense, bytes.payload);
  switch (route) {
    case WireRoute::kDenseAllreduce:
      return traffic.dense;
    case WireRoute::kSparseAllgather:
      return traffic.sparse;
    case WireRoute::kSplitAllgather:
      return traffic.split;
    case WireRoute::kPushPull:
      return traffic.push_pull;
    case WireRoute::kHostAllgather:
      break;
  }
  return 0.0;
}

}  // namespace

double BytesSent(WireRoute route, const EqualHosts& places, const ExchangeBytes& bytes) {
  if (places.hosts == 1) return 0.0;
  if (route == WireRoute::kHostAllgather) {
    return (places.hosts - 1) * static_cast<double>(bytes.payload);
  }
  const int others = places.ranks() - 1;
  const int elsewhere = places.ranks() - places.ranks_per_host;
  return places.ranks_per_host * BytesOfRank(route, places.ranks(), bytes) * elsewhere / others;
}

double ExchangeSeconds(WireRoute route, const EqualHosts& places, const HostLink& link,
                       const ExchangeBytes& bytes) {
  if (places.hosts == 1) return 0.0;
  const bool drifts = route == WireRoute::kDenseAllreduce && places.hosts > 2;
  return PhasesOf(route) * link.seconds_per_message +
         BytesSent(route, places, bytes) /
             (link.bytes_per_second * (drifts ? kBusyInReduction : 1.0));
}

StepTimes TimelineOf(std::span<const BucketTimes> buckets) {
  StepTimes times;
  double encoded = 0.0;
  double exchanged = 0.0;
  for (const BucketTimes& bucket : buckets) {
    encoded = std::max(encoded, bucket.ready) + bucket.encode;
    exchanged = std::max(exchanged, encoded) + bucket.exchange;
    times.end = std::max(times.end, exchanged) + bucket.decode;
    times.ready = std::max(times.ready, bucket.ready);
    times.network += bucket.exchange;
  }
  return times;
}

}  // namespace weir
