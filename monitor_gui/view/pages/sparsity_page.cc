#include "monitor_gui/view/pages/sparsity_page.h"

#include <QVBoxLayout>

#include "monitor_gui/run/step_series.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/style/units.h"
#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {
SparsityPage::SparsityPage(QWidget* parent)
    : Page(parent),
      density_(new LineChart(tr("Density: part of the gradient entries that are sent"), tr("step"),
                             tr("ratio"), LineChart::Scale::kLogarithmic, this)),
      residual_(new LineChart(tr("Residual: norm of what is kept back over that of the gradient"),
                              tr("step"), tr("ratio"), LineChart::Scale::kLinear, this)),
      threshold_(new LineChart(tr("Threshold: magnitude from which a gradient entry is sent"),
                               tr("step"), {}, LineChart::Scale::kLogarithmic, this)),
      links_(new ChartLinks(*this, {density_, residual_, threshold_})) {
  density_->setToolTip(tr(
      "Configured: what the schedule asks for, warm-up included. Achieved: what the newest "
      "frames hold, mean over ranks and layers by their entries; biases and small tensors travel "
      "whole, so it may lie above."));
  residual_->setToolTip(tr(
      "An estimate on a part of the layers in each step. It settles where as much is sent as comes "
      "in; one that goes on growing means that too little is sent."));
  density_->SetEmptyText(tr("No step has ended yet."));
  residual_->SetEmptyText(
      tr("Nothing is kept back: the gradients travel whole, or no step has ended."));
  threshold_->setToolTip(
      tr("Mean over ranks and layers by their entries, in the unit of the gradients. What was kept "
         "back counts: it falls where gradients become smaller, and rises with what waits."));
  threshold_->SetEmptyText(tr("No compressor here has a threshold, or no step has ended."));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(density_, 1);
  layout->addWidget(residual_, 1);
  layout->addWidget(threshold_, 1);
  LineChart::Align({density_, residual_, threshold_});
  for (LineChart* chart : {density_, residual_}) chart->SetPlacesShown(false);
  density_->SetFormat(&Percent);
  residual_->SetFormat(&Times);
}

void SparsityPage::Refresh(const Look& look) {
  const Theme theme = Theme::Of(palette());
  std::vector<LineChart::Line> density;
  std::vector<LineChart::Line> residual;
  std::vector<LineChart::Line> threshold;
  for (const Side& side : look.sides()) {
    LayerMeans& means = means_[side.is_other ? 1 : 0];
    means.Update(side.run.layers());
    density.push_back(LineOf(side, tr("configured"), theme.faint, ConfiguredDensityOf(side.run),
                             Part::kReference));
    density.push_back(LineOf(side, tr("achieved"), theme.accent,
                             SeriesOf(means, &LayerMeans::Mean::density, side.run)));
    residual.push_back(LineOf(side, tr("measured layers"), theme.accent,
                              SeriesOf(means, &LayerMeans::Mean::residual, side.run)));
    threshold.push_back(LineOf(side, tr("all layers"), theme.accent,
                               SeriesOf(means, &LayerMeans::Mean::threshold, side.run)));
  }
  links_->Refresh(look);
  density_->Show(density);
  residual_->Show(residual);
  threshold_->Show(threshold);
}

void SparsityPage::Hover(std::optional<std::int64_t> step) { links_->Hover(step); }

Table SparsityPage::Export(const Look& /*look*/) const {
  return TableOf({density_, residual_, threshold_});
}

}  // namespace weir::monitor
