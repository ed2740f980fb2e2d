#pragma once

#include <QWidget>
#include <optional>
#include <vector>

#include "monitor_gui/view/charts/chart_axis.h"
#include "monitor_gui/view/charts/chart_line.h"

namespace weir::monitor {

/// A few lines over a common axis. Their names stand in the title's line, each with its value at
/// the cursor: where the mouse is in this chart or in one that shares the axis, else at the mark,
/// else at the end. At most as many points of a line as pixels are drawn.
class LineChart final : public QWidget {
  Q_OBJECT
 public:
  using Scale = ChartAxis::Scale;
  using Line = ChartLine;
  /// A remarkable place of the x axis.
  struct Event {
    double x = 0.0;
    QString text;
    bool is_faint = false;  ///< There are more important ones.
  };
  /// Writes a value with its unit.
  using Format = QString (*)(double value);

  /// `unit`: of the values, for the axis.
  LineChart(const QString& title, const QString& x_title, const QString& unit, Scale scale,
            QWidget* parent);
  void Show(const std::vector<Line>& lines);
  const std::vector<Line>& lines() const { return lines_; }  ///< As given, all points.
  const QString& title() const { return title_; }
  const QString& x_title() const { return x_title_; }
  const QString& unit() const { return unit_; }
  Format value_format() const { return format_; }
  const ChartAxis& x_axis() const { return x_; }
  const ChartAxis& y_axis() const { return y_; }
  const std::vector<Event>& events() const { return events_; }

  /// Marks a place of the x axis, or none.
  void Mark(std::optional<double> x);
  /// Shows the cursor at a place of the x axis, or nowhere.
  void Hover(std::optional<double> x);
  void SetEvents(std::vector<Event> events);
  /// Shows this part of the x axis from the next Show() on, not that of the points.
  void SetPlaces(std::optional<ChartAxis> places) { places_ = places; }
  /// Draws areas above each other, each line's values on those before it.
  void SetStacked(bool stacked) { is_stacked_ = stacked; }
  /// Cuts off single values that are far above nearly all others.
  void SetClipped(bool clipped) { is_clipped_ = clipped; }
  /// Leaves the numbers of the x axis out: a chart below has them.
  void SetPlacesShown(bool shown) { has_places_ = shown; }
  void SetFormat(Format format) { format_ = format; }
  /// Sets the text for a chart without points.
  void SetEmptyText(const QString& text) { empty_text_ = text; }
  /// Begins all plots, which lie above each other, at one place, whatever their labels are.
  static void Align(const std::vector<LineChart*>& charts);

  /// The area of the lines.
  QRectF plot_area() const;
  double XOf(double value) const;
  /// What the title's line says of the lines, in their order: "sent 12.3 MB/s".
  QStringList LegendTexts() const;
  QSize minimumSizeHint() const override { return {160, 76}; }
  QSize sizeHint() const override { return {400, 160}; }

 signals:
  /// The mouse is at a place of the x axis; nothing: it has left.
  void Hovered(std::optional<double> x);
  /// A person clicked at a place of the x axis, or dragged there.
  void Chosen(double x);
  /// The plot area is another one.
  void Resized();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  int HeaderHeight() const;
  QString LabelOf(double value) const;
  /// Notes how wide the labels are, which all plots of one column share.
  void Measure();
  int Ticks() const;
  std::optional<double> PlaceAt(const QPointF& mouse) const;
  std::optional<double> cursor() const;
  void PaintHeader(QPainter& painter) const;
  void PaintAxes(QPainter& painter) const;
  void PaintLines(QPainter& painter) const;
  void PaintEvents(QPainter& painter) const;
  void PaintCursor(QPainter& painter) const;

  const Scale scale_;
  const QString title_;
  const QString x_title_;
  const QString unit_;
  Format format_ = nullptr;
  std::vector<Line> lines_;
  std::vector<Line> drawn_;  ///< Those with points; stacked, their sums.
  std::vector<Event> events_;
  ChartAxis x_;
  ChartAxis y_;
  std::optional<ChartAxis> places_;
  std::vector<LineChart*> peers_;
  int label_width_ = 0;
  QString empty_text_;
  bool is_stacked_ = false;
  bool is_clipped_ = false;
  bool has_places_ = true;
  std::optional<double> mark_;
  std::optional<double> hover_;
};

}  // namespace weir::monitor
