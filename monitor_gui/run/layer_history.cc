#include "monitor_gui/run/layer_history.h"

#include <algorithm>
#include <span>

namespace weir::monitor {
namespace {

constexpr int kLookedBack = 256;  // Columns; a residual is not measured in every step.

/// Below 0: there is none. Logs of compressors that have none say 0.
float ThresholdAt(std::span<const float> thresholds, std::size_t row) {
  if (row >= thresholds.size() || thresholds[row] <= 0.0f) return -1.0f;
  return thresholds[row];
}

}  // namespace

void Statistic::Add(float value) { Add({.count = 1, .sum = value, .min = value, .max = value}); }

void Statistic::Add(const Statistic& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  count += other.count;
  sum += other.sum;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

void LayerHistory::Add(const RankRun& rank, const Block& block) {
  const auto step = block.Column<std::int64_t>("step");
  const auto start = block.Column<std::int64_t>("start_ns");
  const auto end = block.Column<std::int64_t>("end_ns");
  const auto payload = block.Column<std::uint64_t>("payload_bytes");
  const auto gradient = block.Column<std::uint32_t>("gradient");
  const auto density = block.Column<float>("density");
  const auto residual = block.Column<float>("residual_ratio");
  const auto threshold = block.Column<float>("threshold");
  const std::size_t rows = std::min({step.size(), start.size(), end.size(), payload.size(),
                                     gradient.size(), density.size(), residual.size()});
  for (std::size_t i = 0; i < rows; ++i) {
    const int column = ColumnOf(step[i]);
    if (column < 0) continue;
    const std::size_t l = LayerOf(rank.NameOf(gradient[i]));
    const std::array<float, kMetrics> values = {static_cast<float>(end[i] - start[i]) * 1e-9f,
                                                static_cast<float>(payload[i]), density[i],
                                                residual[i], ThresholdAt(threshold, i)};
    for (std::size_t m = 0; m < kMetrics; ++m) {
      if (values[m] < 0.0f) continue;  // Not measured.
      cells_[m][Index(l, column)].Add(values[m]);
    }
  }
}

Statistic LayerHistory::Newest(Metric metric, std::size_t layer) const {
  // Of the very newest step some ranks have not told yet.
  const Statistic found = NewestUntil(metric, layer, std::max(columns_ - 2, 0));
  if (found.count > 0 || columns_ == 0) return found;
  return At(metric, layer, columns_ - 1);
}

Statistic LayerHistory::Newest(Metric metric, std::size_t layer, std::int64_t until_step) const {
  if (until_step < first_step_) return {};
  const std::int64_t column = (until_step - first_step_) / steps_per_column_;
  if (column >= columns_) return Newest(metric, layer);
  return NewestUntil(metric, layer, static_cast<int>(column));
}

Statistic LayerHistory::NewestUntil(Metric metric, std::size_t layer, int last_column) const {
  if (columns_ == 0) return {};
  for (int column = last_column; column >= std::max(0, last_column - kLookedBack); --column) {
    const Statistic& cell = At(metric, layer, column);
    if (cell.count > 0) return cell;
  }
  return {};
}

std::size_t LayerHistory::LayerOf(const NameInfo& info) {
  const auto [found, is_new] = by_name_.emplace(info.name, layers_.size());
  if (is_new) {
    layers_.push_back({.name = info.name,
                       .group = info.group,
                       .compressor = info.compressor,
                       .elements = info.elements});
    for (auto& cells : cells_) cells.resize(layers_.size() * kMostColumns);
  }
  return found->second;
}

int LayerHistory::ColumnOf(std::int64_t step) {
  if (step < 0) return -1;
  if (first_step_ < 0) first_step_ = step;
  if (step < first_step_) return -1;
  while ((step - first_step_) / steps_per_column_ >= kMostColumns) Halve();
  const int column = static_cast<int>((step - first_step_) / steps_per_column_);
  columns_ = std::max(columns_, column + 1);
  return column;
}

void LayerHistory::Halve() {
  for (auto& cells : cells_) {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      Statistic* const row = cells.data() + layer * kMostColumns;
      for (int column = 0; column < kMostColumns / 2; ++column) {
        Statistic both = row[2 * column];
        both.Add(row[2 * column + 1]);
        row[column] = both;
      }
      std::fill(row + kMostColumns / 2, row + kMostColumns, Statistic{});
    }
  }
  columns_ = (columns_ + 1) / 2;
  steps_per_column_ *= 2;
}

}  // namespace weir::monitor
