#include "monitor_gui/window/replay_control.h"

#include <algorithm>

#include "monitor_gui/window/replay_keys.h"

namespace weir::monitor {

ReplayControl::ReplayControl(Session& session, Session* other, QWidget& window)
    : QObject(&window), session_(session), other_(other), bar_(new ReplayBar(&window)) {
  clock_.start();
  auto* const keys = new ReplayKeys(window);
  connect(keys, &ReplayKeys::Stepped, this, &ReplayControl::StepBy);
  connect(keys, &ReplayKeys::FirstWanted, this, [this] { GoTo(replay_.steps().first); });
  connect(keys, &ReplayKeys::NewestWanted, this, [this] { SetFollowing(true); });
  connect(keys, &ReplayKeys::PlayingToggled, this, &ReplayControl::TogglePlaying);
  connect(bar_, &ReplayBar::StepChosen, this, &ReplayControl::GoTo);
  connect(bar_, &ReplayBar::NewestWanted, this, [this] { SetFollowing(true); });
  connect(bar_, &ReplayBar::PlayingToggled, this, &ReplayControl::TogglePlaying);
}

std::int64_t ReplayControl::step_to_show() const {
  const bool is_recorded = !session_.is_live() && !replay_.steps().is_empty();
  return is_recorded ? replay_.step() : replay_.step_or_newest();
}

void ReplayControl::WithRun(const std::function<void(const Run&)>& look) {
  session_.run().Read([&](const Run& run) {
    if (other_ == nullptr) return look(run);
    other_->run().Read(
        [&](const Run& other) { look(StepsOf(other).last > StepsOf(run).last ? other : run); });
  });
}

void ReplayControl::Update() {
  ReplayBar::Times times{.is_live = session_.is_live()};
  session_.run().Read([&](const Run& run) {
    times.is_lost = run.AllAre(RankLink::State::kLost);
    times.has_ended = run.HasEnded();
  });
  WithRun([&](const Run& run) {
    replay_.SetSteps(StepsOf(run));
    replay_.Advance(run, clock_.nsecsElapsed());
    const auto seconds = [&](std::int64_t step) {
      return static_cast<double>(MomentOf(run, step).end_ns - run.oldest_ns()) * 1e-9;
    };
    if (!replay_.steps().is_empty()) {
      times.chosen_seconds = seconds(replay_.step());
      times.last_seconds = seconds(replay_.steps().last);
    }
    bar_->Show(replay_, times);
  });
}

void ReplayControl::GoTo(std::int64_t step) {
  replay_.GoTo(step);
  emit Moved();
}

void ReplayControl::GoToTime(std::int64_t time_ns) {
  // By the first run's time, as in the lanes.
  replay_.GoTo(session_.run().Read([&](const Run& run) { return StepAt(run, time_ns); }));
}

void ReplayControl::StepBy(std::int64_t by) {
  std::int64_t step = replay_.step();
  WithRun([&](const Run& run) { step = StepFrom(run, step, by); });
  GoTo(step);
}

void ReplayControl::SetFollowing(bool following) {
  if (following) {
    replay_.Follow();
  } else {
    replay_.Hold();
  }
  emit Moved();
}

void ReplayControl::TogglePlaying() {
  Update();  // The run has just been read.
  if (replay_.playing() || (session_.is_live() && replay_.following())) {
    replay_.Hold();
  } else {
    WithRun([this](const Run& run) { replay_.Play(run, clock_.nsecsElapsed()); });
  }
  emit Moved();
}

}  // namespace weir::monitor
