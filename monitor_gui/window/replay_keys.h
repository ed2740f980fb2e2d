#pragma once

#include <QKeyEvent>
#include <QWidget>

namespace weir::monitor {

/// The keys that choose a step, whichever view of a window has the focus. Only text fields
/// and drop-down lists keep theirs.
class ReplayKeys final : public QObject {
  Q_OBJECT
 public:
  explicit ReplayKeys(QWidget& window);

 signals:
  void Stepped(int by);
  void FirstWanted();
  void NewestWanted();
  void PlayingToggled();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  bool Take(int key, const QWidget& receiver);

  QWidget& window_;
};

}  // namespace weir::monitor
