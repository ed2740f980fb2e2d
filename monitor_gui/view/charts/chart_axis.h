#pragma once

#include <QString>
#include <vector>

#include "monitor_gui/view/charts/chart_line.h"

namespace weir::monitor {

/// An axis of a chart: a range of values on a scale, and where its ticks are. A plain value.
struct ChartAxis {
  enum class Scale : bool { kLinear, kLogarithmic };

  double low = 0.0;
  double high = 1.0;  ///< Above `low`.
  Scale scale = Scale::kLinear;

  /// Returns the place of a value: 0 at the low end, 1 at the high one.
  double PlaceOf(double value) const;
  double ValueAt(double place) const;
  /// Returns round values, about as many as asked for and never more than one above.
  std::vector<double> Ticks(int most) const;

  bool operator==(const ChartAxis&) const = default;
};

/// Returns the axis from the first point to the last one of all lines.
ChartAxis FitPlaces(const std::vector<ChartLine>& lines);
/// Returns the axis that shows the values of all lines: from 0 or lower up to a round value, or
/// from one power of ten to another. `clips`: not those that are far above nearly all others.
ChartAxis FitValues(const std::vector<ChartLine>& lines, ChartAxis::Scale scale,
                    bool clips = false);

}  // namespace weir::monitor
