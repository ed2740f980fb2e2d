#include "monitor_gui/view/replay_bar.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QIcon>
#include <QPainter>
#include <QSignalBlocker>
#include <algorithm>
#include <limits>

#include "monitor_gui/view/style/text_color.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/style/units.h"

namespace weir::monitor {
namespace {

/// In the colour of texts, which the styles' icons do not use.
QIcon PlayIcon(bool pauses, const QColor& color) {
  constexpr int kSize = 32;
  QPixmap pixmap(kSize, kSize);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  if (pauses) {
    painter.drawRect(8, 6, 6, 20);
    painter.drawRect(18, 6, 6, 20);
  } else {
    painter.drawPolygon(QPolygon({{9, 5}, {27, 16}, {9, 27}}));
  }
  return QIcon(pixmap);
}

}  // namespace

ReplayBar::ReplayBar(QWidget* parent)
    : QWidget(parent),
      play_(new QToolButton(this)),
      slider_(new QSlider(Qt::Horizontal, this)),
      place_(new QLabel(this)),
      state_(new QLabel(this)),
      newest_(new QToolButton(this)) {
  play_->setAutoRaise(true);
  slider_->setAccessibleName(tr("step that all pages show"));
  slider_->setToolTip(
      tr("The step that all pages show. Left and Right go a step, Home to the first, End to the "
         "newest."));
  place_->setToolTip(
      tr("The step that is shown, and the seconds from the begin of the first to its end."));
  newest_->setText(tr("Back to live"));
  newest_->setToolTip(tr("Follows the newest step again (End)."));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 2, 8, 2);
  layout->setSpacing(8);
  layout->addWidget(play_);
  layout->addWidget(slider_, 1);
  for (QLabel* label : {place_, state_}) layout->addWidget(label);
  layout->addWidget(newest_);
  connect(play_, &QToolButton::clicked, this, &ReplayBar::PlayingToggled);
  connect(newest_, &QToolButton::clicked, this, &ReplayBar::NewestWanted);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int value) { emit StepChosen(first_step_ + value); });
  ColorSlider();
  Show(Replay(), {});
}

void ReplayBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) ColorSlider();
}

// The style colours groove and handle like the window, with darker outlines, which would
// be invisible on a dark window.
void ReplayBar::ColorSlider() {
  QPalette colors = palette();
  colors.setColor(QPalette::Window, colors.color(QPalette::Shadow).lighter(140));
  colors.setColor(QPalette::Button, colors.color(QPalette::Shadow));
  slider_->setPalette(colors);
}

void ReplayBar::Show(const Replay& replay, const Times& times) {
  const StepSpan& steps = replay.steps();
  setEnabled(!steps.is_empty());
  first_step_ = steps.first;
  {
    const QSignalBlocker block(slider_);  // Only displayed, not chosen.
    const std::int64_t length = std::max<std::int64_t>(steps.last - steps.first, 0);
    slider_->setRange(
        0, static_cast<int>(std::min<std::int64_t>(length, std::numeric_limits<int>::max())));
    slider_->setPageStep(std::max(1, slider_->maximum() / 20));
    slider_->setValue(static_cast<int>(replay.step() - steps.first));
  }
  place_->setText(steps.is_empty()
                      ? tr("no step yet")
                      : tr("step %1 of %2   %3 of %4")
                            .arg(replay.step())
                            .arg(steps.last)
                            .arg(Seconds(times.chosen_seconds), Seconds(times.last_seconds)));
  ShowState(replay, times);
}

void ReplayBar::ShowState(const Replay& replay, const Times& times) {
  const Theme theme = Theme::Of(palette());
  const bool is_live = times.is_live;
  const bool runs = replay.playing() || (is_live && replay.following());
  play_->setIcon(PlayIcon(runs, palette().color(QPalette::WindowText)));
  play_->setAccessibleName(runs ? tr("pause") : tr("play"));
  play_->setToolTip(runs ? tr("Holds this step (Space).")
                         : tr("Plays at recorded speed (Space), from the begin when at the end."));
  newest_->setVisible(is_live && !replay.following());
  if (replay.steps().is_empty()) return state_->clear();
  if (replay.playing()) {
    state_->setText(tr("Playing"));
    SetTextColor(*state_, theme.accent);
  } else if (is_live && times.has_ended && replay.following()) {
    state_->setText(tr("The job has ended"));
    SetTextColor(*state_, theme.faint);
  } else if (times.is_lost && replay.following()) {
    state_->setText(tr("No rank answers"));
    SetTextColor(*state_, theme.bad);
  } else if (is_live && replay.following()) {
    state_->setText(tr("Live"));
    SetTextColor(*state_, theme.good);
  } else if (is_live) {
    state_->setText(tr("Not following: %n steps behind", nullptr,
                       static_cast<int>(std::min<std::int64_t>(replay.steps().last - replay.step(),
                                                               std::numeric_limits<int>::max()))));
    SetTextColor(*state_, theme.warning);
  } else {
    state_->setText(replay.following() ? tr("Recorded, at its end") : tr("Recorded"));
    SetTextColor(*state_, theme.faint);
  }
}

}  // namespace weir::monitor
