#pragma once

#include <QByteArray>

#include "monitor_gui/log/block.h"
#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Makes the run of these blocks. They stay in memory while it is filled.
inline Run RunOf(const QByteArray& bytes) {
  Run run;
  for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  return run;
}

}  // namespace weir::monitor
