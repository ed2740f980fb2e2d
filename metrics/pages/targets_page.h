#pragma once

#include <string>
#include <vector>

#include "metrics/records/run_info.h"
#include "weir/settings.h"

namespace weir {

/// Address at which a rank of the job serves its metrics.
struct Target {
  int rank = 0;
  std::string host;     ///< The launcher's name of it.
  std::string address;  ///< "host:port"
  bool tls = false;
};

/// Returns every rank's target, in order. Empty when no launcher has told the job's hosts,
/// unless this rank is the only one.
std::vector<Target> Targets(const Settings& settings, const RunInfo& info);

/// The page /targets of rank 0, in the format of Prometheus's HTTP service discovery.
std::string TargetsPage(const std::vector<Target>& targets);

}  // namespace weir
