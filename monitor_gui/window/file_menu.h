#pragma once

#include <QAction>
#include <QMenu>
#include <QObject>

namespace weir::monitor {

class MainWindow;

/// The menu that opens runs, records and exports them, with its dialogs.
class FileMenu final : public QObject {
  Q_OBJECT
 public:
  /// Adds it to the window's menu bar; the window outlives it.
  explicit FileMenu(MainWindow& window);

 private:
  void AddExports(QMenu& menu);
  void AskForFile();
  void AskForOther();
  void AskForUrl();
  void ToggleRecording(bool wanted);
  void OnRecordingEnded(const QString& why);
  /// Asks for a file name with this ending, and exports to it.
  void AskForExport(const QString& title, const QString& ending, const QString& filter);

  MainWindow& window_;
  QAction* record_ = nullptr;
};

}  // namespace weir::monitor
