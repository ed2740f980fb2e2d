#pragma once

#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QTimer>
#include <cstdint>
#include <utility>
#include <vector>

#include "monitor_gui/view/lanes_page.h"
#include "monitor_gui/view/page.h"
#include "monitor_gui/view/strip.h"
#include "monitor_gui/window/replay_control.h"
#include "monitor_gui/window/session.h"

namespace weir::monitor {

/// The window on one run: the strip of numbers, the pages in docks, the menus. Another run is
/// another window, so that two can be looked at side by side.
class MainWindow final : public QMainWindow {
  Q_OBJECT
 public:
  /// As --page takes them.
  static QStringList PageNames();

  /// `place`: as Session takes it; empty: nothing is open.
  MainWindow(const QString& place, const QString& token);

  /// Brings a page to the front. False: there is none of this name.
  bool ShowPage(const QString& name);
  /// Brings the strip and all pages that can be seen up to date.
  void Refresh();
  Session& session() { return session_; }
  ReplayControl& replay() { return replay_; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void MakePages();
  void MakeMenus();
  void AddPage(const QString& name, const QString& title, const QString& keys, Page* page);
  /// Above the pages that are no tabs.
  void ShowTitles();
  void OpenInNewWindow(const QString& place);
  void AskForFile();
  void AskForUrl();
  void ToggleRecording(bool wanted);
  void ExportPng();
  void OnLanesMoved(std::int64_t end_ns);
  void OnRecordingEnded(const QString& why);

  const QString token_;
  Session session_;
  std::uint64_t seen_generation_ = UINT64_MAX;
  ReplayControl replay_;
  Strip* const strip_;
  QLabel* const status_;
  LanesPage* lanes_ = nullptr;
  QAction* record_ = nullptr;
  QAction* follow_ = nullptr;
  std::vector<std::pair<QDockWidget*, Page*>> pages_;
  QTimer timer_;
};

}  // namespace weir::monitor
