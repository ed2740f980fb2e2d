#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "monitor_gui/run/rank_run.h"

namespace weir::monitor {

/// Quantities shown of a gradient in a step.
enum class Metric : std::uint8_t { kLatency, kPayload, kDensity, kResidual, kThreshold };
inline constexpr int kMetrics = 5;

/// A statistic of a metric over ranks, and over the steps of a column. `count` 0: unknown.
struct Statistic {
  std::uint32_t count = 0;
  float sum = 0.0f;
  float min = 0.0f;
  float max = 0.0f;

  void Add(float value);
  void Add(const Statistic& other);
  bool operator==(const Statistic&) const = default;
  float mean() const { return count == 0 ? 0.0f : sum / static_cast<float>(count); }
};

/// Every gradient ("layer") of a run over its steps, in bounded memory: neighbouring steps
/// share a column once there are more of them than kMostColumns. Latency is in seconds,
/// payload in bytes per rank and step, the threshold a magnitude of gradient entries; the
/// others are ratios. Not thread-safe.
class LayerHistory {
 public:
  static constexpr int kMostColumns = 2048;

  struct Layer {
    QString name;
    QString group;
    QString compressor;
    std::uint64_t elements = 0;

    /// Returns the name without its group's, which all layers of an optimizer share.
    QString short_name() const;
    bool operator==(const Layer&) const = default;
  };

  /// Adds a block of kind "gradients" of a rank.
  void Add(const RankRun& rank, const Block& block);
  /// Forgets everything except how often it has changed.
  void Clear();
  /// Forgets names: a rank's gradient numbers have a new meaning from now on.
  void ForgetNames(int rank) { layers_of_.erase(rank); }

  const std::vector<Layer>& layers() const { return layers_; }
  int columns() const { return static_cast<int>(columns_.size()); }
  std::int64_t first_step() const { return first_step_; }
  std::int64_t steps_per_column() const { return steps_per_column_; }
  /// Returns the newest column that is likely to have all ranks, and has values. `count` is
  /// 0 where none of the newest has.
  Statistic Newest(Metric metric, std::size_t layer) const;
  /// Returns the column that has this step, or one of those before it.
  Statistic Newest(Metric metric, std::size_t layer, std::int64_t until_step) const;
  /// Returns all metrics.
  std::array<Statistic, kMetrics> NewestOf(std::size_t layer, std::int64_t until_step) const;
  const Statistic& At(Metric metric, std::size_t layer, int column) const {
    static constexpr Statistic kNothing{};
    const auto cells = Cells(metric, column);
    return layer < cells.size() ? cells[layer] : kNothing;
  }
  /// Returns a column, by layer. Layers beyond its end have no values in it.
  std::span<const Statistic> Cells(Metric metric, int column) const {
    if (column >= columns()) return {};
    return columns_[static_cast<std::size_t>(column)].cells[static_cast<std::size_t>(metric)];
  }
  /// Grows with each change of the column, so that results made from it can be kept until then.
  std::uint64_t RevisionOf(int column) const {
    return columns_[static_cast<std::size_t>(column)].revision;
  }

 private:
  /// By column, because a step's gradients arrive together.
  struct Column {
    std::array<std::vector<Statistic>, kMetrics> cells;
    std::uint64_t revision = 0;
  };
  static constexpr std::uint32_t kUnknown = UINT32_MAX;

  Statistic NewestUntil(Metric metric, std::size_t layer, int last_column) const;
  std::uint32_t LayerOf(const NameInfo& info);
  /// Null: before the first step that is kept.
  Column* ColumnOf(std::int64_t step);
  void Halve();

  std::vector<Layer> layers_;
  std::unordered_map<QString, std::uint32_t> by_name_;
  std::unordered_map<int, std::vector<std::uint32_t>> layers_of_;  ///< By rank, then by gradient.
  std::vector<Column> columns_;
  std::uint64_t revision_ = 0;
  std::int64_t first_step_ = -1;
  std::int64_t steps_per_column_ = 1;
};

}  // namespace weir::monitor
