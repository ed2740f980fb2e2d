#pragma once

#include <QChartView>
#include <QColor>
#include <QList>
#include <QPointF>
#include <cstdint>
#include <optional>
#include <vector>

#include "monitor_gui/run/look.h"

class QLineSeries;
class QValueAxis;
class QAbstractAxis;

namespace weir::monitor {

/// A few lines over a common axis. Uses the colours of the palette, and at most as many points per
/// line as pixels. The tooltip shows the values at the mouse.
class LineChart final : public QChartView {
  Q_OBJECT
 public:
  enum class Scale : bool { kLinear, kLogarithmic };
  struct Line {
    QString name;
    QColor color;
    QList<QPointF> points;
    Qt::PenStyle style = Qt::SolidLine;
  };

  /// `unit`: of the values, for the axis.
  LineChart(const QString& title, const QString& x_title, const QString& unit, Scale scale,
            QWidget* parent);
  void Show(const std::vector<Line>& lines);
  const std::vector<Line>& lines() const { return lines_; }  ///< As given, all points.
  const QString& title() const { return title_; }
  const QString& x_title() const { return x_title_; }
  const QString& unit() const { return unit_; }
  /// Marks a place of the x axis from the next Show() on, or none.
  void Mark(std::optional<double> x) { mark_ = x; }

  /// Sets the text for a chart without points.
  void SetEmptyText(const QString& text) { empty_text_ = text; }

 protected:
  bool viewportEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;

 private:
  struct Range {
    double low = 0;
    double high = 0;
    bool operator==(const Range&) const = default;
  };
  QLineSeries* AddSeries(const QString& name);
  void TakeColors();
  void SetX(const Range& range);
  void SetY(const Range& range);
  void FitAxes(const std::vector<Line>& lines);
  void PaintMark(QPainter& painter) const;

  qint64 colored_ = -1;  // The palette's key.
  Range shown_x_;
  Range shown_y_;
  double last_x_ = 0;  // The last point: the axis goes on.
  QAbstractAxis* y_ = nullptr;
  QValueAxis* x_ = nullptr;
  const Scale scale_;
  const QString title_;
  const QString x_title_;
  const QString unit_;
  std::vector<Line> lines_;
  QString empty_text_;
  bool empty_ = true;
  std::optional<double> mark_;
};

/// Aligns these charts, which lie above each other: their x axes begin at one place,
/// whatever the width of their labels.
void AlignPlots(const std::vector<LineChart*>& charts);

/// Returns the mark of a moment on an axis of steps, and on one of seconds since `origin_ns`.
/// Nothing while the newest is viewed.
std::optional<double> MarkOf(const Moment& at);
std::optional<double> MarkOf(const Moment& at, std::int64_t origin_ns);

/// Role of a line: the chart's subject, or a reference for it.
enum class Part : std::uint8_t { kSubject, kReference };
/// Makes a line of one of the viewed runs. The other run's are dashed and references are dotted, so
/// that nobody has to tell colours apart.
LineChart::Line LineOf(const Side& side, const QString& name, const QColor& color,
                       QList<QPointF> points, Part part = Part::kSubject);

/// Returns at most `most` of the points: the smallest and the largest of each part of the line, so
/// that no peak is lost. `points` by x.
QList<QPointF> Decimated(const QList<QPointF>& points, qsizetype most);

}  // namespace weir::monitor
