#include "monitor_gui/run/slowest_layers.h"

#include <algorithm>

namespace weir::monitor {

std::vector<SlowLayer> SlowestLayers(const LayerHistory& history, std::int64_t until_step,
                                     std::size_t most) {
  std::vector<std::pair<float, std::size_t>> by_latency;
  for (std::size_t layer = 0; layer < history.layers().size(); ++layer) {
    const Statistic latency = history.Newest(Metric::kLatency, layer, until_step);
    if (latency.count > 0) by_latency.emplace_back(-latency.mean(), layer);
  }
  const std::size_t count = std::min(most, by_latency.size());
  std::ranges::partial_sort(by_latency, by_latency.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<SlowLayer> slowest;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t layer = by_latency[i].second;
    slowest.push_back({.layer = layer, .newest = history.NewestOf(layer, until_step)});
  }
  return slowest;
}

}  // namespace weir::monitor
