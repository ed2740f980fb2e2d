#include "monitor_gui/run/layer_history.h"

#include <algorithm>
#include <span>

namespace weir::monitor {
namespace {

constexpr int kLookedBack = 256;  // Columns; a residual is not measured in every step.
constexpr std::uint32_t kMostNumbers = 1 << 24;  // Number of gradients: a log may claim any.

/// Below 0: none. Logs of compressors without a threshold have 0.
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

QString LayerHistory::Layer::short_name() const {
  return name.startsWith(group + "/") ? name.mid(group.size() + 1) : name;
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
  auto& layers = layers_of_[block.rank()];
  ++revision_;
  Column* column = nullptr;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i == 0 || step[i] != step[i - 1]) column = ColumnOf(step[i]);
    if (column == nullptr) continue;
    const std::uint32_t number = gradient[i];
    if (number >= layers.size()) {
      if (number >= kMostNumbers) continue;
      layers.resize(number + 1, kUnknown);
    }
    if (layers[number] == kUnknown) layers[number] = LayerOf(rank.NameOf(number));
    const std::size_t layer = layers[number];
    if (layer >= column->cells[0].size()) {
      for (auto& cells : column->cells) cells.resize(layers_.size());
    }
    const std::array<float, kMetrics> values = {static_cast<float>(end[i] - start[i]) * 1e-9f,
                                                static_cast<float>(payload[i]), density[i],
                                                residual[i], ThresholdAt(threshold, i)};
    for (std::size_t m = 0; m < kMetrics; ++m) {
      if (values[m] >= 0.0f) column->cells[m][layer].Add(values[m]);  // Negative: not measured.
    }
  }
}

void LayerHistory::Clear() {
  const std::uint64_t revision = revision_;
  *this = {};
  revision_ = revision;
}

Statistic LayerHistory::Newest(Metric metric, std::size_t layer) const {
  // Some ranks have not reported the very newest step yet.
  const Statistic found = NewestUntil(metric, layer, std::max(columns() - 2, 0));
  if (found.count > 0 || columns() == 0) return found;
  return At(metric, layer, columns() - 1);
}

Statistic LayerHistory::Newest(Metric metric, std::size_t layer, std::int64_t until_step) const {
  if (columns() == 0 || until_step < first_step_) return {};
  const std::int64_t column = (until_step - first_step_) / steps_per_column_;
  if (column >= columns()) return Newest(metric, layer);
  return NewestUntil(metric, layer, static_cast<int>(column));
}

std::array<Statistic, kMetrics> LayerHistory::NewestOf(std::size_t layer,
                                                       std::int64_t until_step) const {
  std::array<Statistic, kMetrics> newest;
  for (std::size_t m = 0; m < kMetrics; ++m)
    newest[m] = Newest(static_cast<Metric>(m), layer, until_step);
  return newest;
}

Statistic LayerHistory::NewestUntil(Metric metric, std::size_t layer, int last_column) const {
  if (columns() == 0) return {};
  for (int column = last_column; column >= std::max(0, last_column - kLookedBack); --column) {
    const Statistic& cell = At(metric, layer, column);
    if (cell.count > 0) return cell;
  }
  return {};
}

std::uint32_t LayerHistory::LayerOf(const NameInfo& info) {
  const auto [found, is_new] =
      by_name_.emplace(info.name, static_cast<std::uint32_t>(layers_.size()));
  if (is_new) {
    layers_.push_back({.name = info.name,
                       .group = info.group,
                       .compressor = info.compressor,
                       .elements = info.elements});
  }
  return found->second;
}

LayerHistory::Column* LayerHistory::ColumnOf(std::int64_t step) {
  if (step < 0) return nullptr;
  if (first_step_ < 0) first_step_ = step;
  if (step < first_step_) return nullptr;
  while ((step - first_step_) / steps_per_column_ >= kMostColumns) Halve();
  const auto column = static_cast<std::size_t>((step - first_step_) / steps_per_column_);
  if (column >= columns_.size()) columns_.resize(column + 1, {.cells = {}, .revision = revision_});
  columns_[column].revision = revision_;
  return &columns_[column];
}

void LayerHistory::Halve() {
  for (std::size_t from = 0; from < columns_.size(); from += 2) {
    if (from > 0) columns_[from / 2] = std::move(columns_[from]);
    Column& both = columns_[from / 2];
    both.revision = revision_;
    if (from + 1 == columns_.size()) break;
    for (std::size_t m = 0; m < kMetrics; ++m) {
      const auto& later = columns_[from + 1].cells[m];
      auto& cells = both.cells[m];
      cells.resize(std::max(cells.size(), later.size()));
      for (std::size_t layer = 0; layer < later.size(); ++layer) cells[layer].Add(later[layer]);
    }
  }
  columns_.resize((columns_.size() + 1) / 2);
  steps_per_column_ *= 2;
}

}  // namespace weir::monitor
