#pragma once

#include <QByteArray>

#include "monitor_gui/log/block.h"
#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// The run that these blocks are of. They stay in memory as long as it is filled.
inline Run RunOf(const QByteArray& bytes) {
  Run run;
  for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  return run;
}

}  // namespace weir::monitor
