#pragma once

#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QWidget>

#include "monitor_gui/run/replay.h"

namespace weir::monitor {

/// The row below all pages that shows their step, and chooses another one.
class ReplayBar final : public QWidget {
  Q_OBJECT
 public:
  /// State of the run that the Replay does not know.
  struct Times {
    double chosen_seconds = 0.0;  ///< Since the begin of the first step.
    double last_seconds = 0.0;
    bool is_live = false;
    bool is_lost = false;    ///< Live, but no rank answers.
    bool has_ended = false;  ///< No rank will report anything more.
  };

  explicit ReplayBar(QWidget* parent = nullptr);
  void Show(const Replay& replay, const Times& times);

 signals:
  void StepChosen(std::int64_t step);
  void PlayingToggled();
  void NewestWanted();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void ColorSlider();
  void ShowState(const Replay& replay, const Times& times);

  QToolButton* const play_;
  QSlider* const slider_;
  QLabel* const place_;
  QLabel* const state_;
  QToolButton* const newest_;
  std::int64_t first_step_ = 0;
};

}  // namespace weir::monitor
