#include "monitor_gui/view/style/metric_text.h"

#include <QObject>

#include "monitor_gui/view/style/units.h"

namespace weir::monitor {

QString Name(Metric metric) {
  switch (metric) {
    case Metric::kLatency:
      return QObject::tr("Latency");
    case Metric::kPayload:
      return QObject::tr("Payload");
    case Metric::kDensity:
      return QObject::tr("Density");
    case Metric::kResidual:
      return QObject::tr("Residual");
    case Metric::kThreshold:
      return QObject::tr("Threshold");
  }
  return {};
}

QString Explanation(Metric metric) {
  switch (metric) {
    case Metric::kLatency:
      return QObject::tr(
          "Seconds from when backprop handed the gradient over until its mean was there.");
    case Metric::kPayload:
      return QObject::tr("Bytes that a rank put into the step's exchange for the layer.");
    case Metric::kDensity:
      return QObject::tr(
          "Part of the layer's gradient entries that were sent: what was achieved, not "
          "what was asked for.");
    case Metric::kResidual:
      return QObject::tr(
          "Norm of what the layer keeps back over that of its gradient, estimated now "
          "and then on a part of it.");
    case Metric::kThreshold:
      return QObject::tr(
          "Magnitude from which an entry of the layer's gradient is sent, what was kept back "
          "included. In the gradient's own unit.");
  }
  return {};
}

QString Text(Metric metric, double value) {
  switch (metric) {
    case Metric::kLatency:
      return Seconds(value);
    case Metric::kPayload:
      return Bytes(value);
    case Metric::kDensity:
      return Percent(value);
    case Metric::kResidual:
      return Times(value);
    case Metric::kThreshold:
      return QString::number(value, 'g', 3);
  }
  return {};
}

QString Unit(Metric metric) {
  switch (metric) {
    case Metric::kLatency:
      return "s";
    case Metric::kPayload:
      return "B";
    case Metric::kDensity:
    case Metric::kResidual:
      return "ratio";
    case Metric::kThreshold:
      break;  // In the gradient's unit.
  }
  return {};
}

}  // namespace weir::monitor
