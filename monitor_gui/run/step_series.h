#pragma once

#include <QList>
#include <QPointF>
#include <optional>

#include "monitor_gui/run/layer_means.h"
#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// Figures of a run over its steps: x is a step's number. Seconds, bytes, ratios.
using StepSeries = QList<QPointF>;

/// What a rank's steps consist of: each moment counts once.
struct StepParts {
  StepSeries own;            ///< Everything else: the program, and what hides behind it.
  StepSeries compression;    ///< Exposed.
  StepSeries communication;  ///< Exposed.
};
StepParts StepPartsOf(const RankRun& rank);

/// Bytes a second, over the intervals between two states of the rank (a second each).
struct ByteRates {
  StepSeries sent;   ///< What it handed to the network.
  StepSeries dense;  ///< What the gradients of the same steps would have been uncompressed.
};
ByteRates ByteRatesOf(const RankRun& rank);

/// Returns what the network carries of a rank's messages, as plans have measured it, up to the last
/// step; empty: nothing has.
StepSeries NetworkLimitOf(const Run& run);

/// Returns the density that the schedule asked for.
StepSeries ConfiguredDensityOf(const Run& run);
/// Returns means over layers. Leaves out a step that no rank has finished, as some layers have not
/// reported it yet.
StepSeries SeriesOf(const LayerMeans& means, std::optional<double> LayerMeans::Mean::*what,
                    const Run& run);

}  // namespace weir::monitor
