#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// A layer and its newest figures (LayerHistory::NewestOf).
struct SlowLayer {
  std::size_t layer = 0;  ///< Its number in the history.
  std::array<Statistic, kMetrics> newest{};

  const Statistic& of(Metric metric) const { return newest[static_cast<std::size_t>(metric)]; }
};

/// Returns at most `most` layers, those first whose gradients took longest from their submission to
/// their delivery, mean over ranks.
std::vector<SlowLayer> SlowestLayers(const LayerHistory& history, std::int64_t until_step,
                                     std::size_t most);

}  // namespace weir::monitor
