#pragma once

#include <QElapsedTimer>
#include <QObject>

#include "monitor_gui/run/replay.h"
#include "monitor_gui/view/replay_bar.h"
#include "monitor_gui/window/session.h"

namespace weir::monitor {

/// Chooses the step at which a window shows its run: by a bar, by keys, and by playing.
class ReplayControl final : public QObject {
  Q_OBJECT
 public:
  /// Both outlive it; the keys are those of the window.
  ReplayControl(Session& session, QWidget& window);

  ReplayBar* bar() const { return bar_; }
  const Replay& replay() const { return replay_; }

  /// Learns of the run's steps, moves on while playing, and shows that. Returns what to look at.
  Moment Update(const Run& run);

  void GoTo(std::int64_t step);
  /// To the last step that was finished by then, without a word: who says so shows it already.
  void GoToTime(std::int64_t time_ns);
  void StepBy(std::int64_t by);
  void SetFollowing(bool following);
  void TogglePlaying();

 signals:
  /// Another step was chosen.
  void Moved();

 private:
  Session& session_;
  Replay replay_;
  QElapsedTimer clock_;
  ReplayBar* const bar_;
};

}  // namespace weir::monitor
