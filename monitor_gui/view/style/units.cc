#include "monitor_gui/view/style/units.h"

#include <array>
#include <cmath>

namespace weir::monitor {
namespace {

QString Digits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return QString::number(value, 'f', decimals);
}

struct UnitOfSize {
  double size;
  const char* name;
};

template <std::size_t N>
QString Scaled(double value, const std::array<UnitOfSize, N>& units) {
  for (const UnitOfSize& unit : units) {
    if (std::abs(value) >= 0.9995 * unit.size) {
      return Digits(value / unit.size) + " " + QString::fromUtf8(unit.name);
    }
  }
  return Digits(value / units.back().size) + " " + QString::fromUtf8(units.back().name);
}

}  // namespace

QString Seconds(double seconds) {
  constexpr std::array<UnitOfSize, 4> kUnits = {
      {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
  return seconds == 0 ? "0 s" : Scaled(seconds, kUnits);
}

QString Bytes(double bytes) {
  constexpr std::array<UnitOfSize, 5> kUnits = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1.0, "B"}}};
  return Scaled(bytes, kUnits);
}

QString BytesPerSecond(double rate) { return Bytes(rate) + "/s"; }

QString PerSecond(double rate) {
  constexpr std::array<UnitOfSize, 4> kUnits = {
      {{1e9, "G/s"}, {1e6, "M/s"}, {1e3, "k/s"}, {1.0, "/s"}}};
  return Scaled(rate, kUnits);
}

QString Percent(double fraction) { return Digits(fraction * 100) + " %"; }

QString Rounded(const QString& text) {
  const qsizetype point = text.indexOf('.');
  if (point < 0) return text;
  qsizetype end = point + 1;
  while (end < text.size() && text[end].isDigit()) ++end;
  qsizetype kept = end;
  while (text[kept - 1] == '0') --kept;
  if (kept == point + 1) --kept;
  return text.left(kept) + text.mid(end);
}

QString Times(double ratio) { return Digits(ratio) + "×"; }

}  // namespace weir::monitor
