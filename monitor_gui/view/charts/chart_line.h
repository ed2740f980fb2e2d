#pragma once

#include <QColor>
#include <QList>
#include <QPointF>
#include <QString>
#include <cstdint>
#include <optional>

#include "monitor_gui/run/look.h"

namespace weir::monitor {

/// A line of a chart.
struct ChartLine {
  QString name;
  QColor color;
  QList<QPointF> points;  ///< By x.
  Qt::PenStyle style = Qt::SolidLine;
};

/// Role of a line: the chart's subject, or a reference for it.
enum class Part : std::uint8_t { kSubject, kReference };
/// Makes a line of one of the viewed runs. The other run's are dashed and references are dotted, so
/// that nobody has to tell colours apart.
ChartLine LineOf(const Side& side, const QString& name, const QColor& color, QList<QPointF> points,
                 Part part = Part::kSubject);

/// Returns at most `most` of the points: the smallest and the largest of each part of the line, so
/// that no peak is lost. `points` by x.
QList<QPointF> Decimated(const QList<QPointF>& points, qsizetype most);

/// Returns the point that lies nearest. `points`: by x, at least one.
const QPointF& NearestPoint(const QList<QPointF>& points, double x);

/// Returns the mark of a moment on an axis of steps, and on one of seconds since `origin_ns`.
/// Nothing while the newest is viewed.
std::optional<double> MarkOf(const Moment& at);
std::optional<double> MarkOf(const Moment& at, std::int64_t origin_ns);

}  // namespace weir::monitor
