#pragma once

#include <QStringList>
#include <cstddef>
#include <optional>
#include <vector>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// A layer of two runs, A and B, which have it under the same name; or of one of them.
struct ComparedLayer {
  std::optional<std::size_t> in_a;  ///< Its number there; nothing: only the other one has it.
  std::optional<std::size_t> in_b;

  bool operator==(const ComparedLayer&) const = default;
};

/// The layers of A in their order, and behind them those that only B has.
std::vector<ComparedLayer> CompareLayers(const LayerHistory& a, const LayerHistory& b);

/// How two runs fit: whether they have as many ranks and the same layers, and if not, what only one
/// of them has. A sentence each.
QStringList DescribeFit(const Run& a, const Run& b);

}  // namespace weir::monitor
