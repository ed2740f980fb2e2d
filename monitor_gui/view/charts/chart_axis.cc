#include "monitor_gui/view/charts/chart_axis.h"

#include <algorithm>
#include <cmath>

#include "monitor_gui/view/charts/round_step.h"

namespace weir::monitor {
namespace {

constexpr int kParts = 16;  // Of an axis, in whole ones of which it ends.
constexpr double kRounding = 1e-9;
constexpr std::ptrdiff_t kRare = 16;
constexpr double kAbove = 1.3;

/// Returns the smallest round step that divides the range into at most so many parts.
double StepOf(double range, int most) {
  double step = RoundStep(range / most);
  while (range / step > most * (1 + kRounding)) step = RoundStep(step * 2.6);
  return step;
}

/// Returns what only one value in kRare of a line is above, of the line where that is most.
double UsualHighest(const std::vector<ChartLine>& lines) {
  double highest = 0;
  for (const ChartLine& line : lines) {
    if (line.points.isEmpty()) continue;
    std::vector<double> values;
    for (const QPointF& point : line.points) values.push_back(point.y());
    const auto place = values.end() - 1 - std::ssize(values) / kRare;
    std::ranges::nth_element(values, place);
    highest = std::max(highest, *place);
  }
  return highest;
}

}  // namespace

double ChartAxis::PlaceOf(double value) const {
  if (scale == Scale::kLinear) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

double ChartAxis::ValueAt(double place) const {
  if (scale == Scale::kLinear) return low + place * (high - low);
  return low * std::pow(high / low, place);
}

std::vector<double> ChartAxis::Ticks(int most) const {
  std::vector<double> ticks;
  most = std::max(most, 1);
  if (scale == Scale::kLogarithmic) {
    const int first = static_cast<int>(std::ceil(std::log10(low) - kRounding));
    const int last = static_cast<int>(std::floor(std::log10(high) + kRounding));
    const int step = std::max(1, (last - first + most - 1) / most);
    for (int power = first; power <= last; power += step) ticks.push_back(std::pow(10.0, power));
    return ticks;
  }
  const double step = StepOf(high - low, most);
  const auto first = std::llround(std::ceil(low / step - kRounding));
  const auto last = std::llround(std::floor(high / step + kRounding));
  for (auto tick = first; tick <= last; ++tick) ticks.push_back(static_cast<double>(tick) * step);
  return ticks;
}

ChartAxis FitPlaces(const std::vector<ChartLine>& lines) {
  ChartAxis axis{.low = INFINITY, .high = -INFINITY};
  for (const ChartLine& line : lines) {
    if (line.points.isEmpty()) continue;
    axis.low = std::min(axis.low, line.points.front().x());
    axis.high = std::max(axis.high, line.points.back().x());
  }
  if (axis.high < axis.low) return {};
  if (axis.high == axis.low) axis.high = axis.low + 1;
  return axis;
}

ChartAxis FitValues(const std::vector<ChartLine>& lines, ChartAxis::Scale scale, bool clips) {
  const bool is_logarithmic = scale == ChartAxis::Scale::kLogarithmic;
  double low = INFINITY;
  double high = -INFINITY;
  for (const ChartLine& line : lines) {
    for (const QPointF& point : line.points) {
      if (is_logarithmic && point.y() <= 0) continue;
      low = std::min(low, point.y());
      high = std::max(high, point.y());
    }
  }
  if (is_logarithmic) {
    if (high < low) low = high = 1;
    const double top = std::ceil(std::log10(high) - kRounding);
    const double bottom = std::min(std::floor(std::log10(low) + kRounding), top - 1);
    return {.low = std::pow(10, bottom), .high = std::pow(10, top), .scale = scale};
  }
  if (clips) high = std::min(high, kAbove * UsualHighest(lines));
  if (high <= 0) return {.low = std::min(low, 0.0), .high = 1.0};
  const double step = RoundStep(high / kParts);
  return {.low = std::min(low, 0.0), .high = std::ceil(high * 1.04 / step) * step};
}

}  // namespace weir::monitor
