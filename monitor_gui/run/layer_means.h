#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// Means over all layers of a run, column by column. Recomputes only columns that
/// have changed. Not thread-safe.
class LayerMeans {
 public:
  struct Mean {
    std::optional<double> density{};    ///< By the layers' entries; nothing: not known.
    std::optional<double> residual{};   ///< Root of the mean of the squares, by entries.
    std::optional<double> threshold{};  ///< By entries.
  };

  void Update(const LayerHistory& history);
  /// By column of the history.
  const std::vector<Mean>& means() const { return means_; }

 private:
  std::vector<Mean> means_;
  std::vector<std::uint64_t> revisions_;
};

}  // namespace weir::monitor
