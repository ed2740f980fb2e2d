#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <vector>

#include "monitor_gui/log/block.h"

namespace weir::monitor {

class Run;

/// A tensor that ranks wait with for others, which have not submitted it.
struct StalledTensor {
  QString name;
  int process_set = 0;
  std::int64_t since_ns = 0;  ///< Of the wall clock.
  std::vector<int> missing;   ///< Those others.

  /// "'loss'", and of which process set where that is not all ranks.
  QString FullName() const;
  double WaitedSeconds(std::int64_t now_ns) const;
};

/// What was stalled from a moment on, as the engine said: the longest waits first.
struct Stalls {
  std::int64_t time_ns = 0;
  std::vector<StalledTensor> tensors;
  int left_out = 0;  ///< How many more there were.
};

/// What a block of kind "stalls" says. `epoch_ns` as in RankRun.
Stalls ParseStalls(const Block& block, std::int64_t epoch_ns);

/// What was stalled in the run then; nothing where nobody has said.
const Stalls& StallsAt(const Run& run, std::int64_t time_ns);

/// One sentence for each of the first few: what waits, for how long, and for whom.
QStringList SentencesOf(const Stalls& stalls, std::int64_t now_ns);
/// "0.5 s", "12 s"
QString ShortSeconds(double seconds);

}  // namespace weir::monitor
