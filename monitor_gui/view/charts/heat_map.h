#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <vector>

#include "monitor_gui/view/charts/heat_grid.h"

namespace weir::monitor {

/// Layers by steps, as colours on a logarithmic scale from the smallest to the largest shown
/// value: all of them at once, several as one cell where there are more of them than pixels. The
/// tooltip shows a cell's values.
class HeatMap final : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit HeatMap(QWidget* parent = nullptr);

  /// `order`: the layers to show, from above.
  void Show(const LayerHistory& history, Metric metric, const std::vector<std::size_t>& order);
  /// Marks a step from the next Show() on; no mark when it is not among those shown.
  void Mark(std::int64_t step) { marked_step_ = step; }

 signals:
  /// The number of pixels has changed.
  void Resized();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  int RowHeight() const;
  QRect Area() const;
  /// Returns the number of cells that fit.
  HeatGrid::Size MostCells() const;
  void Recolor();
  void PaintNames(QPainter& painter) const;
  void PaintLegend(QPainter& painter) const;
  void PaintMark(QPainter& painter) const;
  QString Describe(const QPoint& at) const;

  static constexpr int kLegendHeight = 34;

  Metric metric_ = Metric::kLatency;
  HeatGrid grid_;
  HeatGrid::Range colored_;  // The range that the colours show.
  QImage cells_;             // One pixel per cell.
  std::vector<QString> names_;
  std::int64_t marked_step_ = -1;
};

}  // namespace weir::monitor
