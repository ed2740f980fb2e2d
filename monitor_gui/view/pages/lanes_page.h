#pragma once

#include <QListView>
#include <optional>

#include "monitor_gui/view/charts/lane_delegate.h"
#include "monitor_gui/view/charts/lanes_model.h"
#include "monitor_gui/view/charts/time_axis.h"
#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// Every rank's work as lanes over time. They end with the viewed step until a
/// person moves them. The wheel zooms at the mouse, dragging moves, and so do
/// + - and the arrows with Shift.
class LanesPage final : public Page {
  Q_OBJECT
 public:
  explicit LanesPage(Looking looking, QWidget* parent = nullptr);
  void Refresh(const Look& look) override;
  Table Export(const Look& look) const override;
  void Hover(std::optional<std::int64_t> step) override;
  void Select(const QString& layer) override { model_.Select(layer); }

  TimeWindow time_window() const { return window_; }
  /// From the next Refresh() on the lanes end with the viewed step.
  void GoWithStep() { goes_with_step_ = true; }

 signals:
  /// A person moved the lanes: the step finished by then becomes the viewed one.
  void Moved(std::int64_t end_ns);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  int LaneWidth() const;
  std::int64_t TimeAt(double x) const;
  void SetWindow(TimeWindow window);
  void Zoom(double factor, double x);
  void Move(double pixels);
  /// Returns the step at a place; nothing: left of the lanes, or none was taken then.
  std::optional<std::int64_t> StepAt(double x) const;
  void ShowToolTip(const QPoint& at, const QPoint& global);

  const Looking looking_;
  LanesModel model_;
  QListView* const list_;
  LaneDelegate* const delegate_;
  TimeAxis* const axis_;
  TimeWindow window_{0, 1'000'000'000};
  bool zoomed_ = false;  // By a person; until then some steps are shown.
  std::int64_t origin_ns_ = 0;
  bool goes_with_step_ = true;
  std::optional<double> drag_x_;
};

}  // namespace weir::monitor
