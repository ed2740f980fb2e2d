#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <vector>

#include "monitor_gui/run/layer_history.h"

namespace weir::monitor {

/// Layers by steps, as colours on a logarithmic scale from the smallest to the largest value that
/// is shown. The mouse tells a cell's values.
class HeatMap final : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit HeatMap(QWidget* parent = nullptr);

  /// `order`: the layers to show, from above.
  void Show(const LayerHistory& history, Metric metric, const std::vector<std::size_t>& order);
  /// Points out a step from the next Show() on; none when it is not among those that are shown.
  void Mark(std::int64_t step) { marked_step_ = step; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Range {
    double low = 0;
    double high = 0;
  };
  int RowHeight() const;
  QRect Area() const;
  void PaintNames(QPainter& painter) const;
  void PaintLegend(QPainter& painter) const;
  void PaintMark(QPainter& painter) const;
  QString Describe(const QPoint& at) const;
  void SetBars();

  static constexpr int kLegendHeight = 34;

  Metric metric_ = Metric::kLatency;
  QImage cells_;                           // A pixel a cell.
  std::vector<std::vector<float>> means_;  // What they show, for the mouse; negative: nothing.
  std::vector<std::vector<float>> maxima_;
  std::vector<QString> names_;
  std::int64_t first_step_ = 0;
  std::int64_t steps_per_column_ = 1;
  std::int64_t marked_step_ = -1;
  Range range_;
};

}  // namespace weir::monitor
