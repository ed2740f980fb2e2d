#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <cstdint>
#include <optional>
#include <vector>

#include "monitor_gui/view/charts/heat_grid.h"

namespace weir::monitor {

class LineChart;

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
  /// Shows the cursor at a step, or nowhere.
  void Hover(std::optional<std::int64_t> step);
  /// Frames the layer of this name; empty: none.
  void Select(const QString& layer);
  /// Sets what stands before the scale.
  void SetTitle(const QString& title) { title_ = title; }
  /// Draws each step below its place in a chart that lies above, has the same width, and outlives
  /// this. Names of layers then are in the tooltip alone.
  void AlignWith(const LineChart& chart) { chart_ = &chart; }

 signals:
  /// The number of pixels has changed.
  void Resized();
  /// The mouse is at a step; nothing: it is at none.
  void Hovered(std::optional<std::int64_t> step);
  /// A person clicked at a step of a layer, which is one of several where cells are small.
  void Chosen(std::int64_t step, const QString& layer);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Cell {
    int row = 0;
    int column = 0;
  };
  int RowHeight() const;
  QRect Area() const;
  /// Returns the number of cells that fit.
  HeatGrid::Size MostCells() const;
  std::optional<Cell> CellAt(const QPoint& at) const;
  std::optional<std::int64_t> StepAt(const QPoint& at) const;
  void Recolor();
  void PaintNames(QPainter& painter) const;
  void PaintLegend(QPainter& painter) const;
  void PaintStep(QPainter& painter, std::int64_t step) const;
  void PaintSelected(QPainter& painter) const;
  QString Describe(const QPoint& at) const;

  static constexpr int kLegendHeight = 26;

  Metric metric_ = Metric::kLatency;
  HeatGrid grid_;
  HeatGrid::Range colored_;  // The range that the colours show.
  QImage cells_;             // One pixel per cell.
  std::vector<QString> names_;
  std::vector<QString> labels_;  // The same, short.
  QString title_;
  QString selected_;
  const LineChart* chart_ = nullptr;
  std::int64_t marked_step_ = -1;
  std::optional<std::int64_t> hovered_step_;
};

}  // namespace weir::monitor
