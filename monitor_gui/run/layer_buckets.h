#pragma once

#include <QString>
#include <cstdint>
#include <set>

#include "monitor_gui/run/rank_run.h"

namespace weir::monitor {

/// Returns the numbers of the buckets in which a rank sends a layer; empty: nothing of this name.
std::set<std::uint32_t> BucketsOf(const RankRun& rank, const QString& layer);

}  // namespace weir::monitor
