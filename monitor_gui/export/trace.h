#pragma once

#include <QIODevice>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Writes the known stages and steps of a run as a Chrome trace: a JSON array of events with
/// Horovod's names, as weirrun --timeline-filename writes them, for Perfetto. A rank is a process;
/// every bucket has a track, and a second one for its negotiation. Times are microseconds since the
/// first known event; the process's metadata tells the wall clock's time then.
///
/// Throws std::runtime_error (why) when the device refuses it.
void WriteTrace(const Run& run, QIODevice& device);

}  // namespace weir::monitor
