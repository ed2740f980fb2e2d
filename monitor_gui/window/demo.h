#pragma once

#include <QString>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Place (Session) of the run that comes with the program: a recording of
/// examples/03-char-transformer on four hosts, with compression=auto and DGC's warm-up.
/// scripts/demo-recording makes it.
inline constexpr const char* kDemoPlace = "demo:";

/// Writes that recording to a folder, where a FileSource can read it. Returns the file's path.
QString WriteDemo(const QString& folder);
/// Reads the recording of WriteDemo at once.
Run ReadDemo();

}  // namespace weir::monitor
