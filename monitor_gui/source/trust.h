#pragma once

#include <QString>

namespace weir::monitor {

/// Connections from now on trust the certificates of a file in PEM, besides those that the system
/// trusts. Empty: no file. Returns why that is not possible, or an empty text. Call it before the
/// first connection, from the main thread.
QString TrustAlso(const QString& path);

}  // namespace weir::monitor
