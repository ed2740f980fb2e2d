#include "monitor_gui/view/pages/overview_charts.h"

#include <QVBoxLayout>
#include <algorithm>
#include <numeric>
#include <optional>

#include "monitor_gui/run/step_series.h"
#include "monitor_gui/run/summary.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/style/units.h"

namespace weir::monitor {
namespace {

/// The rank whose own work takes longest, which sets the pace; nullptr: none is known.
const RankRun* PaceOf(const Side& side) {
  const RankRun* pace = nullptr;
  double most = -1;
  for (const auto& [rank, known] : side.run.ranks()) {
    const auto steps = known.StepsUntil(side.at.step, Summary::kSteps);
    const double own = steps.empty() ? 0 : MeanTimesOf(steps).own();
    if (own > most) pace = &known;
    most = std::max(most, own);
  }
  return pace;
}

/// The steps of the runs, each with the room that it takes in a heat map.
std::optional<ChartAxis> PlacesOf(const Look& look) {
  std::optional<ChartAxis> places;
  for (const Side& side : look.sides()) {
    const StepSpan steps = StepsOf(side.run);
    if (steps.is_empty()) continue;
    const double low = static_cast<double>(steps.first) - 0.5;
    const double high = static_cast<double>(steps.last) + 0.5;
    places = ChartAxis{.low = places ? std::min(places->low, low) : low,
                       .high = places ? std::max(places->high, high) : high};
  }
  return places;
}

}  // namespace

OverviewCharts::OverviewCharts(Page& page)
    : QWidget(&page),
      parts_(new LineChart(tr("A step"), tr("step"), tr("s"), LineChart::Scale::kLinear, this)),
      network_(new LineChart(tr("Bytes a second"), tr("step"), tr("B/s"),
                             LineChart::Scale::kLogarithmic, this)),
      density_(new LineChart(tr("Density"), tr("step"), tr("ratio"), LineChart::Scale::kLogarithmic,
                             this)),
      layers_(new HeatMap(this)),
      links_(new ChartLinks(page, {parts_, network_, density_})) {
  parts_->SetStacked(true);
  parts_->SetClipped(true);
  parts_->SetFormat(&Seconds);
  parts_->setToolTip(
      tr("Of the rank that sets the pace. Exposed is what nothing hides any more: after the last "
         "gradient. All the rest is the program's own, with what goes on beside it. Single steps "
         "that take far longer than the others are cut off."));
  network_->SetFormat(&BytesPerSecond);
  network_->setToolTip(
      tr("Sent: what a rank hands to the network, looked at once a second. As dense: what the same "
         "gradients would have been uncompressed. Link: what the network carries of a rank's "
         "messages, as compression=auto has measured it."));
  density_->SetFormat(&Percent);
  density_->setToolTip(
      tr("Part of the gradient entries that are sent: what the schedule asks for, and what was "
         "achieved, mean over ranks and layers by their entries."));
  layers_->SetTitle(tr("Latency of layers"));
  layers_->AlignWith(*density_);
  for (LineChart* chart : {parts_, network_}) chart->SetPlacesShown(false);
  for (LineChart* chart : {parts_, network_, density_})
    chart->SetEmptyText(tr("No step has ended yet."));
  network_->SetEmptyText(tr("Looked at once a second, once a step has ended."));
  LineChart::Align({parts_, network_, density_});
  auto* const layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(parts_, 5);
  layout->addWidget(network_, 4);
  layout->addWidget(density_, 4);
  layout->addWidget(layers_, 5);
  connect(layers_, &HeatMap::Hovered, &page, &Page::StepHovered);
  connect(layers_, &HeatMap::Chosen, &page, [&page](std::int64_t step, const QString& layer) {
    emit page.StepChosen(step);
    emit page.LayerChosen(layer);
  });
  for (const auto& resized : {&HeatMap::Resized})
    connect(layers_, resized, &page, &Page::RefreshWanted, Qt::QueuedConnection);
}

void OverviewCharts::Refresh(const Look& look) {
  for (LineChart* chart : {parts_, network_, density_}) chart->SetPlaces(PlacesOf(look));
  links_->Refresh(look);
  ShowParts(look);
  ShowNetwork(look);
  ShowDensity(look);
  ShowLayers(look);
}

void OverviewCharts::ShowParts(const Look& look) {
  const Theme theme = Theme::Of(palette());
  const RankRun* const pace = PaceOf(look.sides().front());
  if (pace == nullptr) return parts_->Show({});
  StepParts parts = StepPartsOf(*pace);
  parts_->Show({{tr("own work"), theme.backprop, std::move(parts.own)},
                {tr("exposed compression"), theme.compress, std::move(parts.compression)},
                {tr("exposed communication"), theme.exchange, std::move(parts.communication)}});
}

void OverviewCharts::ShowNetwork(const Look& look) {
  const Theme theme = Theme::Of(palette());
  std::vector<LineChart::Line> lines;
  for (const Side& side : look.sides()) {
    if (side.run.ranks().empty()) continue;
    ByteRates rates = ByteRatesOf(side.run.ranks().begin()->second);
    lines.push_back(LineOf(side, tr("sent"), theme.accent, std::move(rates.sent)));
    lines.push_back(LineOf(side, tr("as dense"), theme.faint, std::move(rates.dense)));
    lines.push_back(
        LineOf(side, tr("link"), theme.bad, NetworkLimitOf(side.run), Part::kReference));
  }
  network_->Show(lines);
}

void OverviewCharts::ShowDensity(const Look& look) {
  const Theme theme = Theme::Of(palette());
  std::vector<LineChart::Line> lines;
  for (const Side& side : look.sides()) {
    LayerMeans& means = means_[side.is_other ? 1 : 0];
    means.Update(side.run.layers());
    lines.push_back(LineOf(side, tr("achieved"), theme.accent,
                           SeriesOf(means, &LayerMeans::Mean::density, side.run)));
    lines.push_back(LineOf(side, tr("configured"), theme.faint, ConfiguredDensityOf(side.run),
                           Part::kReference));
  }
  density_->Show(lines);
}

void OverviewCharts::ShowLayers(const Look& look) {
  std::vector<std::size_t> order(look.run.layers().layers().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  layers_->Mark(look.at.step);
  layers_->Show(look.run.layers(), Metric::kLatency, order);
}

void OverviewCharts::Hover(std::optional<std::int64_t> step) {
  links_->Hover(step);
  layers_->Hover(step);
}

}  // namespace weir::monitor
