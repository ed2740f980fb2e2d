#pragma once

#include <cstdint>

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// Which step of a run is looked at, and how that moves on. It follows the newest until another one
/// is chosen. Knows no widgets and no clock: `now_ns` is any that goes on evenly. Not thread-safe.
class Replay {
 public:
  /// What there is to choose from. A step that is no longer among it is followed by the newest.
  void SetSteps(StepSpan steps);
  const StepSpan& steps() const { return steps_; }

  /// The chosen one, the newest while that is followed. -1: there is none.
  std::int64_t step() const;
  /// As MomentOf takes it.
  std::int64_t step_or_newest() const { return following_ ? Moment::kNewest : step_; }
  bool following() const { return following_; }
  bool playing() const { return playing_; }

  /// Chooses the nearest step there is; the last one is followed. Ends playing.
  void GoTo(std::int64_t step);
  void Follow() { GoTo(Moment::kNewest); }
  /// Follows no longer: the newest step of now is looked at. Ends playing.
  void Hold();

  /// Goes on from the chosen step as fast as the run did, from the first one if it is the last.
  void Play(const Run& run, std::int64_t now_ns);
  /// While playing: to where the run had come. At the last step it follows.
  void Advance(const Run& run, std::int64_t now_ns);

 private:
  StepSpan steps_;
  std::int64_t step_ = -1;
  bool following_ = true;
  bool playing_ = false;
  std::int64_t offset_ns_ = 0;  // From the clock of playing to the run's.
};

}  // namespace weir::monitor
