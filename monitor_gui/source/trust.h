#pragma once

#include <QString>

namespace weir::monitor {

/// Makes later connections trust the PEM certificates of a file, besides those that the system
/// trusts. Empty: no file. Returns why that is impossible, or an empty text. Call it before the
/// first connection, from the main thread.
QString TrustAlso(const QString& path);

}  // namespace weir::monitor
