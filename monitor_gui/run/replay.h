#pragma once

#include <cstdint>

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// The step at which a run is viewed, and its movement. Follows the newest until another one is
/// chosen. Knows no widgets and no clock: `now_ns` is any that runs evenly. Not thread-safe.
class Replay {
 public:
  /// Sets the available steps. If the chosen one is no longer among them, follows the newest.
  void SetSteps(StepSpan steps);
  const StepSpan& steps() const { return steps_; }

  /// The chosen step, or the newest while that is followed. -1: there is none.
  std::int64_t step() const;
  /// For MomentOf.
  std::int64_t step_or_newest() const { return following_ ? Moment::kNewest : step_; }
  bool following() const { return following_; }
  bool playing() const { return playing_; }

  /// Chooses the nearest available step; the last one is followed. Ends playing.
  void GoTo(std::int64_t step);
  void Follow() { GoTo(Moment::kNewest); }
  /// Stops following and stays at the current newest step. Ends playing.
  void Hold();

  /// Plays from the chosen step as fast as the run did, from the first one if it is the last.
  void Play(const Run& run, std::int64_t now_ns);
  /// While playing, moves to where the run was by then. Follows at the last step.
  void Advance(const Run& run, std::int64_t now_ns);

 private:
  StepSpan steps_;
  std::int64_t step_ = -1;
  bool following_ = true;
  bool playing_ = false;
  std::int64_t offset_ns_ = 0;  // From the clock of playing to the run's.
};

}  // namespace weir::monitor
