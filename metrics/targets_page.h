#pragma once

#include <string>
#include <vector>

#include "metrics/run_info.h"
#include "weir/settings.h"

namespace weir {

/// Where a rank of the job serves its metrics.
struct Target {
  int rank = 0;
  std::string host;     ///< As the launcher calls it.
  std::string address;  ///< "host:port"
  bool tls = false;
};

/// Of every rank, in their order. Empty when no launcher has told the job's hosts, unless this rank
/// is the only one.
std::vector<Target> Targets(const Settings& settings, const RunInfo& info);

/// What rank 0 serves as /targets: the answer that Prometheus's HTTP service discovery expects.
std::string TargetsPage(const std::vector<Target>& targets);

}  // namespace weir
