#pragma once

#include <array>

#include "monitor_gui/run/comparison.h"
#include "monitor_gui/run/look.h"
#include "monitor_gui/view/tables/row_table.h"

namespace weir::monitor {

/// A layer of two runs, or of one of them, and a step of each.
struct ComparedLayerRow {
  ComparedLayer layer;
  QString name;
  QString compressor;  ///< "dgc", or "dgc / dense" where they differ.
  std::array<Statistic, kMetrics> a{};
  std::array<Statistic, kMetrics> b{};

  bool operator==(const ComparedLayerRow&) const = default;
};

/// A row for each layer of two runs: A's values of a step, and B's differences. Layers are
/// the same when their names are.
class ComparedLayersModel final : public RowTable<ComparedLayerRow> {
 public:
  /// After kFirstMetric: a column for each metric's value in A, and one for the difference to it.
  enum Column { kName, kIn, kCompressor, kFirstMetric };

  ComparedLayersModel();
  /// Takes a look at two runs.
  void Refresh(const Look& look);
};

}  // namespace weir::monitor
