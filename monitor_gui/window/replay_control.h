#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <functional>

#include "monitor_gui/run/replay.h"
#include "monitor_gui/view/replay_bar.h"
#include "monitor_gui/window/session.h"

namespace weir::monitor {

/// Chooses the step at which a window shows its run: by a bar, by keys, and by playing.
class ReplayControl final : public QObject {
  Q_OBJECT
 public:
  /// All must outlive it; the keys are the window's. `other` is a run to compare with, or nullptr:
  /// the steps are those of the run that has come farther.
  ReplayControl(Session& session, Session* other, QWidget& window);

  ReplayBar* bar() const { return bar_; }
  const Replay& replay() const { return replay_; }
  /// For MomentOf. The newest step of a recording is its last one, without what came after it.
  std::int64_t step_to_show() const;

  /// Updates the available steps, moves on while playing, and shows the result.
  void Update();

  void GoTo(std::int64_t step);
  /// Goes to the last step finished by then, without a signal: the caller shows it already.
  void GoToTime(std::int64_t time_ns);
  void StepBy(std::int64_t by);
  void SetFollowing(bool following);
  void TogglePlaying();

 signals:
  /// Emitted when another step was chosen.
  void Moved();

 private:
  void WithRun(const std::function<void(const Run&)>& look);

  Session& session_;
  Session* const other_;
  Replay replay_;
  QElapsedTimer clock_;
  ReplayBar* const bar_;
};

}  // namespace weir::monitor
