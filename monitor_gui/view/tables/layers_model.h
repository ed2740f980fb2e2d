#pragma once

#include <array>

#include "monitor_gui/run/moment.h"
#include "monitor_gui/view/tables/row_table.h"

namespace weir::monitor {

/// A layer and one of its steps, the newest or another: statistics over ranks.
struct LayerRow {
  LayerHistory::Layer layer;
  std::array<Statistic, kMetrics> newest{};

  bool operator==(const LayerRow&) const = default;
};

/// A row for each layer of a run.
class LayersModel final : public RowTable<LayerRow> {
 public:
  enum Column {
    kName,
    kEntries,
    kCompressor,
    kLatency,
    kWorst,
    kPayload,
    kDensity,
    kResidual,
  };
  LayersModel();
  void Refresh(const LayerHistory& history, const Moment& at = {});
};

}  // namespace weir::monitor
