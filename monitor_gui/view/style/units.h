#pragma once

#include <QString>

namespace weir::monitor {

/// Writes numbers for people, three digits and a unit: "1.24 ms", "318 MB/s", "0.1 %".
QString Seconds(double seconds);
QString Bytes(double bytes);
QString BytesPerSecond(double rate);
/// Writes "12.3 k/s", "840 /s".
QString PerSecond(double rate);
QString Percent(double fraction);
/// Writes "96x".
QString Times(double ratio);
/// Leaves out zeros at a number's end: "1.00 MB/s" becomes "1 MB/s", for the numbers of an axis.
QString Rounded(const QString& text);

}  // namespace weir::monitor
