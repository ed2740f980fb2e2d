#pragma once

#include <QIODevice>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Writes what is known of a run's stages and steps as a Chrome trace: a JSON array of events with
/// Horovod's names, as weirrun --timeline-filename writes them, for Perfetto. A rank is a process;
/// every bucket has a track, and a second one for its negotiation. Times are microseconds since the
/// first thing that is known; the process's metadata says what the wall clock showed then.
///
/// Throws std::runtime_error (why) when the device refuses it.
void WriteTrace(const Run& run, QIODevice& device);

}  // namespace weir::monitor
