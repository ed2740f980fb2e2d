#pragma once

#include <cstdint>
#include <map>

#include "monitor_gui/run/rank_run.h"

namespace weir::monitor {

/// What a bucket took in a step: means over the newest steps, up to a moment. Seconds and bytes.
struct BucketFigures {
  std::uint8_t route = 0;  ///< Of its newest exchange: an index into NameInfo::routes.
  double exchange_seconds = 0;
  double compress_seconds = 0;
  double payload = 0;
  double dense = 0;

  /// Returns 0 where nothing was sent.
  double wire_ratio() const { return payload > 0 ? dense / payload : 0; }
};

/// Returns the figures of the buckets that the rank has exchanged in the newest `steps` steps, by
/// number. Of steps before `since` only where there is no other.
std::map<std::uint32_t, BucketFigures> BucketFiguresAt(const RankRun& rank, std::int64_t until_ns,
                                                       std::int64_t steps, std::int64_t since = 0);

}  // namespace weir::monitor
