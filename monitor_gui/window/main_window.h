#pragma once

#include <QElapsedTimer>
#include <QLabel>
#include <QMainWindow>
#include <QTimer>
#include <QToolBar>
#include <cstdint>
#include <functional>
#include <memory>

#include "monitor_gui/view/pages/lanes_page.h"
#include "monitor_gui/view/strip.h"
#include "monitor_gui/window/page_docks.h"
#include "monitor_gui/window/replay_control.h"
#include "monitor_gui/window/session.h"

namespace weir::monitor {

/// The window of one run: the strip of numbers, the pages in docks, the menus. Another run has
/// another window, so that two can be viewed side by side.
class MainWindow final : public QMainWindow {
  Q_OBJECT
 public:
  /// The names that --page takes.
  static QStringList PageNames();

  /// `place` is a Session's; empty: nothing is open. `other` is a run's to compare with.
  MainWindow(const QString& place, const QString& token, const QString& other = {});

  /// Brings a page to the front. False: there is none of this name.
  bool ShowPage(const QString& name) { return pages_.Show(name); }
  /// Refreshes the strip and all visible pages.
  void Refresh();
  /// True once the current page has finished drawing.
  bool IsReady() const { return pages_.current().IsReady(); }
  /// Exports by the file's ending: .png the window, .csv the numbers of the current page, .json a
  /// trace of the whole run for Perfetto. Throws std::runtime_error with the file and the reason.
  void ExportTo(const QString& path);
  /// Sets the samples that all ranks take in a step together, over the job's own. 0: the job's own.
  void SetSamplesPerStep(double samples);
  /// Opens a run; this window closes if nothing is open in it.
  void OpenInNewWindow(const QString& place, const QString& other = {});
  Session& session() { return session_; }
  /// The session of the compared run, or nullptr.
  Session* other_session() { return other_.get(); }
  ReplayControl& replay() { return replay_; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void MakeBars();
  void MakePages();
  void MakeMenus();
  /// Reads the run, or says that none is open.
  void Begin();
  /// `compares`: for two runs.
  std::unique_ptr<Page> MakePage(const QString& name, bool compares);
  /// Shows a notice: nothing is open, a file is being read, or cannot be.
  void Notice(const QString& text, bool is_bad = false);
  /// Calls it with the current look.
  void WithLook(const std::function<void(const Look&)>& look);
  void Watch(Session& session);
  void ShowFit(const Look& look);
  /// Differs after each change of the shown data.
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
  QLabel* fit_ = nullptr;  // The compared runs, and how they fit.
  LanesPage* lanes_ = nullptr;
  QAction* follow_ = nullptr;
  double samples_per_step_ = 0.0;
  QTimer timer_;
  QElapsedTimer since_refresh_;
  qint64 refresh_ms_ = 0;  // What the last one took.
};

}  // namespace weir::monitor
