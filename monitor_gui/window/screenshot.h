#pragma once

#include <QObject>
#include <QString>

#include "monitor_gui/window/main_window.h"

namespace weir::monitor {

/// Takes a picture of a window as soon as it shows something, and ends the program: with 0, or with
/// 1 and a reason on stderr.
class Screenshot final : public QObject {
  Q_OBJECT
 public:
  Screenshot(MainWindow& window, QString path);

 private:
  void Look();
  void Take();
  void GiveUp(const QString& why);

  MainWindow& window_;
  const QString path_;
  QTimer timer_;
  int looks_ = 0;
  bool loaded_ = false;
};

}  // namespace weir::monitor
