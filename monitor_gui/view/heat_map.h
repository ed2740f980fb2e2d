#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <vector>

#include "monitor_gui/view/heat_grid.h"

namespace weir::monitor {

/// Layers by steps, as colours on a logarithmic scale from the smallest to the largest value that
/// is shown: all of them at once, several as one cell where there are more of them than pixels. The
/// mouse tells a cell's values.
class HeatMap final : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit HeatMap(QWidget* parent = nullptr);

  /// `order`: the layers to show, from above.
  void Show(const LayerHistory& history, Metric metric, const std::vector<std::size_t>& order);
  /// Points out a step from the next Show() on; none when it is not among those that are shown.
  void Mark(std::int64_t step) { marked_step_ = step; }

 signals:
  /// There are other pixels to show it on.
  void Resized();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  int RowHeight() const;
  QRect Area() const;
  /// Cells that there is room for.
  HeatGrid::Size MostCells() const;
  void Recolor();
  void PaintNames(QPainter& painter) const;
  void PaintLegend(QPainter& painter) const;
  void PaintMark(QPainter& painter) const;
  QString Describe(const QPoint& at) const;

  static constexpr int kLegendHeight = 34;

  Metric metric_ = Metric::kLatency;
  HeatGrid grid_;
  HeatGrid::Range colored_;  // What the colours stand for.
  QImage cells_;             // A pixel a cell.
  std::vector<QString> names_;
  std::int64_t marked_step_ = -1;
};

}  // namespace weir::monitor
