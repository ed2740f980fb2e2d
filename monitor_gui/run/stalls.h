#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <vector>

#include "monitor_gui/log/block.h"

namespace weir::monitor {

class Run;

/// A tensor that some ranks have submitted and others have not.
struct StalledTensor {
  QString name;
  int process_set = 0;
  std::int64_t since_ns = 0;  ///< Time of the wall clock.
  std::vector<int> missing;   ///< Ranks that have not submitted it.

  /// Returns "'loss'", with its process set unless that is all ranks.
  QString FullName() const;
  double WaitedSeconds(std::int64_t now_ns) const;
};

/// Tensors stalled from a moment on, as the engine reported: the longest waits first.
struct Stalls {
  std::int64_t time_ns = 0;
  std::vector<StalledTensor> tensors;
  int left_out = 0;  ///< Number of further ones.
};

/// Parses a block of kind "stalls". `epoch_ns` as in RankRun.
Stalls ParseStalls(const Block& block, std::int64_t epoch_ns);

/// Returns the stalls of the run at that time; empty where nobody has reported.
const Stalls& StallsAt(const Run& run, std::int64_t time_ns);

/// Returns a sentence for each of the first few: the tensor, how long it waits, and for whom.
QStringList SentencesOf(const Stalls& stalls, std::int64_t now_ns);
/// Writes "0.5 s", "12 s".
QString ShortSeconds(double seconds);

}  // namespace weir::monitor
