#pragma once

#include <QListView>
#include <optional>

#include "monitor_gui/view/lanes_model.h"
#include "monitor_gui/view/page.h"
#include "monitor_gui/view/time_axis.h"

namespace weir::monitor {

/// What every rank did when: lanes over time. The wheel zooms at the mouse, dragging moves, and so
/// do
/// + - and the arrows; End, or "follow", goes with the newest.
class LanesPage final : public Page {
  Q_OBJECT
 public:
  explicit LanesPage(const SharedRun& run, QWidget* parent = nullptr);
  void Refresh(const Run& run) override;

  /// Shows this part of the time, and follows no more.
  void SetWindow(TimeWindow window);
  TimeWindow window() const { return window_; }
  void SetFollowing(bool following);
  bool following() const { return following_; }

 signals:
  void FollowingChanged(bool following);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  int LaneWidth() const;
  std::int64_t TimeAt(double x) const;
  void Zoom(double factor, double x);
  void Move(double pixels);
  void ShowToolTip(const QPoint& at, const QPoint& global);
  void Update();

  const SharedRun& run_;
  LanesModel model_;
  QListView* const list_;
  TimeAxis* const axis_;
  TimeWindow window_{0, 1'000'000'000};
  bool zoomed_ = false;  // By a person; until then some steps are shown.
  std::int64_t origin_ns_ = 0;
  bool following_ = true;
  std::optional<double> drag_x_;
};

}  // namespace weir::monitor
