#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "monitor_gui/run/rank_run.h"

namespace weir::monitor {

/// What is shown of a gradient's way through a step.
enum class Metric : std::uint8_t { kLatency, kPayload, kDensity, kResidual, kThreshold };
inline constexpr int kMetrics = 5;

/// A statistic of a metric over ranks, and over the steps of a column. `count` 0: nothing known.
struct Statistic {
  std::uint32_t count = 0;
  float sum = 0.0f;
  float min = 0.0f;
  float max = 0.0f;

  void Add(float value);
  void Add(const Statistic& other);
  float mean() const { return count == 0 ? 0.0f : sum / static_cast<float>(count); }
};

/// Every gradient ("layer") of a run over its steps, in bounded memory: neighbouring steps share a
/// column as soon as there are more of them than kMostColumns. Latency is in seconds, payload in
/// bytes a rank and step, the threshold a magnitude of gradient entries; the others are ratios. Not
/// thread-safe.
class LayerHistory {
 public:
  static constexpr int kMostColumns = 2048;

  struct Layer {
    QString name;
    QString group;
    QString compressor;
    std::uint64_t elements = 0;
  };

  /// Takes a block of kind "gradients" of a rank.
  void Add(const RankRun& rank, const Block& block);

  const std::vector<Layer>& layers() const { return layers_; }
  int columns() const { return columns_; }
  std::int64_t first_step() const { return first_step_; }
  std::int64_t steps_per_column() const { return steps_per_column_; }
  /// Of the newest column that is likely to have all ranks, and knows anything. `count` is 0 where
  /// none of the newest does.
  Statistic Newest(Metric metric, std::size_t layer) const;
  /// The same of the column that has this step, and those before it.
  Statistic Newest(Metric metric, std::size_t layer, std::int64_t until_step) const;
  const Statistic& At(Metric metric, std::size_t layer, int column) const {
    return cells_[static_cast<std::size_t>(metric)][Index(layer, column)];
  }

 private:
  static std::size_t Index(std::size_t layer, int column) {
    return layer * kMostColumns + static_cast<std::size_t>(column);
  }
  Statistic NewestUntil(Metric metric, std::size_t layer, int last_column) const;
  std::size_t LayerOf(const NameInfo& info);
  /// -1: before the first step that is kept.
  int ColumnOf(std::int64_t step);
  void Halve();

  std::vector<Layer> layers_;
  std::unordered_map<QString, std::size_t> by_name_;
  std::array<std::vector<Statistic>, kMetrics> cells_;
  int columns_ = 0;
  std::int64_t first_step_ = -1;
  std::int64_t steps_per_column_ = 1;
};

}  // namespace weir::monitor
