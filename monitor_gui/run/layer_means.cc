#include "monitor_gui/run/layer_means.h"

#include <cmath>

namespace weir::monitor {
namespace {

template <typename Take>
std::optional<double> MeanOf(const LayerHistory& history, Metric metric, int column, Take take) {
  double weight = 0;
  double sum = 0;
  const auto cells = history.Cells(metric, column);
  for (std::size_t layer = 0; layer < cells.size(); ++layer) {
    if (cells[layer].count == 0) continue;
    const auto entries = static_cast<double>(history.layers()[layer].elements);
    weight += entries;
    sum += entries * take(static_cast<double>(cells[layer].mean()));
  }
  if (weight == 0) return std::nullopt;
  return sum / weight;
}

}  // namespace

void LayerMeans::Update(const LayerHistory& history) {
  const auto columns = static_cast<std::size_t>(history.columns());
  means_.resize(columns);
  revisions_.resize(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const int of = static_cast<int>(column);
    const std::uint64_t revision = history.RevisionOf(of);
    if (revision == revisions_[column]) continue;
    revisions_[column] = revision;
    Mean& mean = means_[column];
    const auto same = [](double value) { return value; };
    mean.density = MeanOf(history, Metric::kDensity, of, same);
    mean.threshold = MeanOf(history, Metric::kThreshold, of, same);
    mean.residual =
        MeanOf(history, Metric::kResidual, of, [](double value) { return value * value; });
    if (mean.residual) mean.residual = std::sqrt(*mean.residual);
  }
}

}  // namespace weir::monitor
