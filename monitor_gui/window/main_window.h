#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QTimer>
#include <QToolBar>
#include <cstdint>
#include <functional>
#include <memory>

#include "monitor_gui/view/lanes_page.h"
#include "monitor_gui/view/strip.h"
#include "monitor_gui/window/page_docks.h"
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

  /// `place`: as Session takes it; empty: nothing is open. `other`: of a run to compare it with.
  MainWindow(const QString& place, const QString& token, const QString& other = {});

  /// Brings a page to the front. False: there is none of this name.
  bool ShowPage(const QString& name) { return pages_.Show(name); }
  /// Brings the strip and all pages that can be seen up to date.
  void Refresh();
  /// The current page has drawn all it wants to draw.
  bool IsReady() const { return pages_.current().IsReady(); }
  /// What is shown, by the file's ending: .png the window, .csv the numbers of the current page,
  /// .json a trace of the whole run for Perfetto. Throws std::runtime_error: which file, and why.
  void ExportTo(const QString& path);
  /// How many samples all ranks take in a step together, whatever the job says. 0: what it says.
  void SetSamplesPerStep(double samples);
  /// The window closes if nothing is open in it.
  void OpenInNewWindow(const QString& place, const QString& other = {});
  Session& session() { return session_; }
  /// Of the run that it is compared with, or nullptr.
  Session* other_session() { return other_.get(); }
  ReplayControl& replay() { return replay_; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void MakeBars();
  void MakePages();
  void MakeMenus();
  /// Reads what there is to read, or says that there is nothing.
  void Begin();
  /// `compares`: of two runs.
  std::unique_ptr<Page> MakePage(const QString& name, bool compares);
  /// What nothing else says: nothing is open, a file is being read, or cannot be.
  void Notice(const QString& text, bool is_bad = false);
  /// Calls it with what there is to look at.
  void WithLook(const std::function<void(const Look&)>& look);
  void Watch(Session& session);
  void ShowFit(const Look& look);
  /// Another number after each change of what is shown.
  std::uint64_t Generation() const;
  void AskForSamples();
  Summary SummaryOf(const Run& run, const Moment& at) const;
  void OnLanesMoved(std::int64_t end_ns);

  const QString token_;
  Session session_;
  const std::unique_ptr<Session> other_;
  std::uint64_t seen_generation_ = UINT64_MAX;
  ReplayControl replay_;
  PageDocks pages_;
  Strip* const strip_;
  QLabel* const status_;
  bool has_failed_ = false;
  QLabel* notice_ = nullptr;
  QToolBar* notice_bar_ = nullptr;
  QLabel* fit_ = nullptr;  // What is compared, and how the runs fit.
  LanesPage* lanes_ = nullptr;
  QAction* follow_ = nullptr;
  double samples_per_step_ = 0.0;
  QTimer timer_;
};

}  // namespace weir::monitor
