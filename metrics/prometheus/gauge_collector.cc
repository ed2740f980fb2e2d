#include "metrics/prometheus/gauge_collector.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "metrics/prometheus/family_of.h"
#include "metrics/prometheus/process_metrics.h"
#include "weir/version.h"

namespace weir {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

template <typename T>
double Load(const std::atomic<T>& value) {
  return static_cast<double>(value.load(std::memory_order_relaxed));
}

FamilyOf QueueDepth(const EngineGauges& gauges) {
  FamilyOf family(MetricType::Gauge, "weir_queue_depth", "Buckets that wait for a stage.");
  for (int i = 0; i < kBucketStageCount; ++i) {
    const auto& depth = gauges.queue_depth[static_cast<std::size_t>(i)];
    family.Value({{"stage", Name(static_cast<Stage>(i))}}, Load(depth));
  }
  return family;
}

/// Links that have carried nothing have no series: most programs use few operations.
FamilyOf Traffic(const EngineGauges& gauges, std::string name, std::string help,
                 decltype(&LinkBytes::sent) direction) {
  constexpr std::array<const char*, kLinkCount> kLinks = {"intra", "inter", "unknown"};
  FamilyOf family(MetricType::Counter, std::move(name), std::move(help));
  for (int op = 0; op < kTrafficOpCount; ++op) {
    const auto& links = gauges.traffic[static_cast<std::size_t>(op)].*direction;
    for (std::size_t link = 0; link < kLinks.size(); ++link) {
      const double bytes = Load(links[link]);
      if (bytes == 0) continue;
      family.Value({{"link", kLinks[link]}, {"op", Name(static_cast<TrafficOp>(op))}}, bytes);
    }
  }
  return family;
}

FamilyOf TargetDensities(const EngineGauges& gauges) {
  FamilyOf family(MetricType::Gauge, "weir_target_density_ratio",
                  "Fraction of a group's gradient entries that its schedule asks for.");
  for (const auto& [group, density] : gauges.target_densities()) {
    family.Value({{"group", group}}, density);
  }
  return family;
}

/// A rank's own entry is left out: it says nothing about the network.
FamilyOf LastHeardOf(const EngineGauges& gauges, int rank) {
  constexpr int kMostPeers = 256;  // More would give each rank more series than a server likes.
  FamilyOf family(MetricType::Gauge, "weir_peer_last_heartbeat_timestamp_seconds",
                  "When a message of the peer last arrived, since 1970.");
  const LastHeard& heard = gauges.last_heard;
  if (heard.peers() > kMostPeers) return family;
  for (int peer = 0; peer < heard.peers(); ++peer) {
    const double seconds = heard.Seconds(peer);
    if (peer != rank && seconds > 0) family.Value({{"peer", std::to_string(peer)}}, seconds);
  }
  return family;
}

FamilyOf Aborts(const EngineGauges& gauges) {
  FamilyOf family(MetricType::Counter, "weir_aborts_total", "Jobs ended before their time.");
  for (int i = 0; i < kAbortReasonCount; ++i) {
    const auto& count = gauges.aborts[static_cast<std::size_t>(i)];
    family.Value({{"reason", Name(static_cast<AbortReason>(i))}}, Load(count));
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> GaugeCollector::Collect() const {
  constexpr MetricType kGauge = MetricType::Gauge;
  constexpr MetricType kCounter = MetricType::Counter;
  std::vector<MetricFamily> families;
  const auto add = [&](FamilyOf family) { families.push_back(std::move(family)); };

  FamilyOf build(kGauge, "weir_build_info", "Always 1; the label says which Weir this is.");
  add(build.Value({{"version", Version()}}, 1));
  FamilyOf rank(kGauge, "weir_rank_info", "Always 1; the labels say which rank this is.");
  add(rank.Value({{"rank", std::to_string(info_.rank)},
                  {"local_rank", std::to_string(info_.local_rank)},
                  {"host", info_.host}},
                 1));
  add(FamilyOf::One(kGauge, "weir_world_size", "Number of ranks.", info_.size));

  add(Traffic(gauges_, "weir_bytes_sent_total", "Bytes handed to the network.", &LinkBytes::sent));
  add(Traffic(gauges_, "weir_bytes_received_total", "Bytes taken from the network.",
              &LinkBytes::received));
  FamilyOf rounds(kCounter, "weir_negotiation_rounds_total", "Negotiation rounds.");
  rounds.Value({{"path", "fast"}}, Load(gauges_.fast_rounds));
  add(rounds.Value({{"path", "slow"}}, Load(gauges_.slow_rounds)));
  add(QueueDepth(gauges_));
  add(FamilyOf::One(kGauge, "weir_stalled_tensors",
                    "Tensors that some ranks submitted and others did not.",
                    Load(gauges_.stalled_tensors)));
  FamilyOf credit(kGauge, "weir_credit_bytes", "Payload of the exchanges that are under way.");
  add(credit.Value({{"stage", Name(Stage::kExchange)}}, Load(gauges_.credit_bytes)));
  add(LastHeardOf(gauges_, info_.rank));
  add(TargetDensities(gauges_));
  add(Aborts(gauges_));
  add(FamilyOf::One(kCounter, "weir_checksum_failures_total", "Frames whose checksum was wrong.",
                    Load(gauges_.checksum_failures)));
  std::ranges::move(ProcessMetrics(), std::back_inserter(families));
  return families;
}

}  // namespace weir
