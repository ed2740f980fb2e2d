#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "monitor_gui/window/main_window.h"

namespace weir::monitor {

/// Takes a picture of a window as soon as it shows something, perhaps at a step of its run, and
/// ends the program: with 0, or with 1 and a reason on stderr.
class Screenshot final : public QObject {
  Q_OBJECT
 public:
  Screenshot(MainWindow& window, QString path, std::optional<std::int64_t> step);

 private:
  void Look();
  void Take();
  void GiveUp(const QString& why);

  MainWindow& window_;
  const QString path_;
  const std::optional<std::int64_t> step_;
  struct Watched {
    Session* session;
    QString said;  // The last one.
  };
  std::vector<Watched> watched_;
  QTimer timer_;
  int looks_ = 0;
  int unread_ = 0;  // Files still being read.
};

}  // namespace weir::monitor
