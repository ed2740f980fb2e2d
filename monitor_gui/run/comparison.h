#pragma once

#include <QStringList>
#include <cstddef>
#include <optional>
#include <vector>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// A layer that two runs, A and B, have under the same name, or that one of them has.
struct ComparedLayer {
  std::optional<std::size_t> in_a;  ///< Its number there; nothing: only in the other run.
  std::optional<std::size_t> in_b;

  bool operator==(const ComparedLayer&) const = default;
};

/// Returns the layers of A in their order, followed by those that only B has.
std::vector<ComparedLayer> CompareLayers(const LayerHistory& a, const LayerHistory& b);

/// Describes in sentences how two runs fit: whether they have as many ranks and the same layers,
/// and otherwise what only one of them has.
QStringList DescribeFit(const Run& a, const Run& b);

}  // namespace weir::monitor
