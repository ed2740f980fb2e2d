#include "monitor_gui/window/main_window.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QDateTime>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>
#include <stdexcept>

#include "monitor_gui/run/comparison.h"
#include "monitor_gui/view/bandwidth_page.h"
#include "monitor_gui/view/decisions_page.h"
#include "monitor_gui/view/layers_page.h"
#include "monitor_gui/view/ranks_page.h"
#include "monitor_gui/view/sparsity_page.h"
#include "monitor_gui/window/appearance.h"
#include "monitor_gui/window/exports.h"

namespace weir::monitor {
namespace {

constexpr int kRefreshMs = 100;
constexpr const char* kLayoutKey = "window/layout";
constexpr const char* kGeometryKey = "window/geometry";
constexpr int kLayoutVersion = 2;  // Of the docks and bars: another one when they change.

}  // namespace

QStringList MainWindow::PageNames() {
  return {"lanes", "layers", "sparsity", "bandwidth", "decisions", "ranks"};
}

MainWindow::MainWindow(const QString& place, const QString& token, const QString& other)
    : token_(token),
      session_(place, token),
      other_(other.isEmpty() ? nullptr : std::make_unique<Session>(other, token)),
      replay_(session_, other_.get(), *this),
      strip_(new Strip(this)),
      status_(
          new QLabel(tr("Nothing is open: File has a job to connect to, or a run log."), this)) {
  setWindowTitle(place.isEmpty()   ? tr("Weir")
                 : other.isEmpty() ? tr("%1 – Weir").arg(place)
                                   : tr("%1 beside %2 – Weir").arg(place, other));
  setDockNestingEnabled(true);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  auto* bar = addToolBar(tr("Strip"));
  bar->setObjectName("strip");
  bar->setMovable(false);
  bar->addWidget(strip_);
  if (other_ != nullptr) {
    addToolBarBreak();
    auto* const compared = addToolBar(tr("Comparison"));
    compared->setObjectName("comparison");
    compared->setMovable(false);
    fit_ = new QLabel(this);
    fit_->setContentsMargins(16, 0, 16, 4);
    fit_->setTextFormat(Qt::RichText);
    fit_->setToolTip(tr(
        "Layers are compared by name. Numbers of B come with what they are in parts of A's; both "
        "are looked at after as many steps."));
    compared->addWidget(fit_);
  }
  auto* replay = new QToolBar(tr("Replay"), this);
  replay->setObjectName("replay");
  replay->setMovable(false);
  replay->addWidget(replay_.bar());
  addToolBar(Qt::BottomToolBarArea, replay);
  statusBar()->addWidget(status_, 1);
  resize(1280, 800);
  MakePages();
  MakeMenus();
  const QSettings settings;
  restoreGeometry(settings.value(kGeometryKey).toByteArray());
  restoreState(settings.value(kLayoutKey).toByteArray(), kLayoutVersion);

  Watch(session_);
  if (other_ != nullptr) Watch(*other_);
  connect(&session_, &Session::RecordingEnded, this, &MainWindow::OnRecordingEnded);
  connect(&timer_, &QTimer::timeout, this, [this] {
    const bool moves = session_.is_live() || (other_ != nullptr && other_->is_live()) ||
                       replay_.replay().playing();
    if (moves || Generation() != seen_generation_) Refresh();
  });
  connect(&replay_, &ReplayControl::Moved, this, [this] {
    lanes_->GoWithStep();
    Refresh();
  });
  connect(lanes_, &LanesPage::Moved, this, &MainWindow::OnLanesMoved);
  timer_.start(kRefreshMs);
  session_.Start();
  if (other_ != nullptr) other_->Start();
}

void MainWindow::Watch(Session& session) {
  connect(&session, &Session::Said, status_, &QLabel::setText);
  connect(&session, &Session::Failed, status_, &QLabel::setText);
}

std::uint64_t MainWindow::Generation() const {
  return session_.run().generation() + (other_ == nullptr ? 0 : other_->run().generation());
}

void MainWindow::WithLook(const std::function<void(const Look&)>& look) {
  session_.run().Read([&](const Run& run) {
    const std::int64_t step = replay_.replay().step_or_newest();
    if (other_ == nullptr) return look({.run = run, .at = MomentOf(run, step)});
    other_->run().Read([&](const Run& other) {
      look({.run = run,
            .at = MomentOf(run, step),
            .other = &other,
            .other_at = MomentOf(other, step)});
    });
  });
}

void MainWindow::MakePages() {
  lanes_ = new LanesPage([this](const auto& look) { WithLook(look); }, this);
  AddPage("lanes", tr("&Lanes"), "Ctrl+1", lanes_);
  AddPage("layers", tr("La&yers"), "Ctrl+2", new LayersPage(other_ != nullptr, this));
  AddPage("sparsity", tr("&Sparsity"), "Ctrl+3", new SparsityPage(this));
  AddPage("bandwidth", tr("&Bandwidth"), "Ctrl+4", new BandwidthPage(this));
  AddPage("decisions", tr("&Decisions"), "Ctrl+5", new DecisionsPage(this));
  AddPage("ranks", tr("&Ranks"), "Ctrl+6", new RanksPage(this));
  pages_.front().first->raise();
}

void MainWindow::ShowTitles() {
  // A tab has the title already.
  for (const auto& [dock, page] : pages_) {
    const bool tabbed = !dock->isFloating() && !tabifiedDockWidgets(dock).isEmpty();
    const bool hidden = dock->titleBarWidget() != nullptr;
    if (tabbed != hidden) dock->setTitleBarWidget(tabbed ? new QWidget(dock) : nullptr);
  }
}

void MainWindow::AddPage(const QString& name, const QString& title, const QString& keys,
                         Page* page) {
  auto* dock = new QDockWidget(QString(title).remove('&'), this);
  dock->setObjectName(name);
  dock->setWidget(page);
  addDockWidget(Qt::TopDockWidgetArea, dock);
  if (!pages_.empty()) tabifyDockWidget(pages_.back().first, dock);
  auto* show = new QAction(title, this);
  show->setShortcut(QKeySequence(keys));
  connect(show, &QAction::triggered, this, [this, name] { ShowPage(name); });
  addAction(show);
  connect(page, &Page::RefreshWanted, this, &MainWindow::Refresh);
  // A page is not kept up to date while nobody sees it.
  connect(dock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
    if (visible) seen_generation_ = UINT64_MAX;
  });
  for (const auto& changed : {&QDockWidget::topLevelChanged, &QDockWidget::visibilityChanged})
    connect(dock, changed, this, &MainWindow::ShowTitles, Qt::QueuedConnection);
  pages_.emplace_back(dock, page);
}

void MainWindow::MakeMenus() {
  QMenu* const file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Connect to a job…"), QKeySequence("Ctrl+N"), this, &MainWindow::AskForUrl);
  file->addAction(tr("&Open a run log…"), QKeySequence::Open, this, &MainWindow::AskForFile);
  file->addAction(tr("Co&mpare with a run log…"), QKeySequence("Ctrl+M"), this,
                  &MainWindow::AskForOther)
      ->setEnabled(!session_.place().isEmpty());
  record_ = file->addAction(tr("&Record to a file…"), QKeySequence("Ctrl+R"), this,
                            &MainWindow::ToggleRecording);
  record_->setCheckable(true);
  record_->setEnabled(session_.is_live());
  QMenu* const exports = file->addMenu(tr("&Export"));
  const auto add_export = [&](const QString& title, const QString& keys, const QString& ending,
                              const QString& filter) {
    exports->addAction(title, QKeySequence(keys), this, [this, title, ending, filter] {
      AskForExport(QString(title).remove('&').remove("…"), ending, filter);
    });
  };
  add_export(tr("Window as &PNG…"), "Ctrl+E", "png", tr("Images (*.png)"));
  add_export(tr("Numbers of the page as &CSV…"), "Ctrl+Shift+E", "csv", tr("Tables (*.csv)"));
  add_export(tr("Run as Perfetto &trace…"), "Ctrl+T", "json", tr("Chrome traces (*.json)"));
  file->addSeparator();
  file->addAction(tr("Close the &window"), QKeySequence::Close, this, &QWidget::close);
  file->addAction(tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);

  QMenu* const view = menuBar()->addMenu(tr("&View"));
  view->addActions(actions());
  view->addSeparator();
  follow_ = view->addAction(tr("&Follow the newest"));
  follow_->setCheckable(true);
  connect(follow_, &QAction::triggered, &replay_, &ReplayControl::SetFollowing);
  QAction* const dark = view->addAction(tr("&Dark"), this, &SetDark);
  dark->setCheckable(true);
  dark->setChecked(IsDark());
}

bool MainWindow::ShowPage(const QString& name) {
  for (const auto& [dock, page] : pages_) {
    if (dock->objectName() != name) continue;
    dock->show();
    dock->raise();
    page->setFocus();
    return true;
  }
  return false;
}

void MainWindow::Refresh() {
  seen_generation_ = Generation();
  replay_.Update();
  const std::int64_t now_ms = QDateTime::currentMSecsSinceEpoch();
  WithLook([&](const Look& look) {
    const Summary summary = Summarise(look.run, now_ms, look.at);
    if (look.other == nullptr) {
      strip_->Show(summary);
    } else {
      const Summary other = Summarise(*look.other, now_ms, look.other_at);
      strip_->Show(summary, &other);
      ShowFit(look);
    }
    for (const auto& [dock, page] : pages_) {
      if (page->isVisible()) page->Refresh(look);  // Not those behind other tabs.
    }
  });
  follow_->setChecked(replay_.replay().following());
}

void MainWindow::ShowFit(const Look& look) {
  const QStringList fit = DescribeFit(look.run, *look.other);
  fit_->setText(tr("<b>A</b> %1 &nbsp; <b>B</b> %2 (dashed) &nbsp; %3")
                    .arg(session_.place().toHtmlEscaped(), other_->place().toHtmlEscaped(),
                         fit.join(" ").toHtmlEscaped()));
}

void MainWindow::OnLanesMoved(std::int64_t end_ns) {
  replay_.GoToTime(end_ns);
  if (replay_.replay().following()) lanes_->GoWithStep();
  Refresh();
}

void MainWindow::OpenInNewWindow(const QString& place, const QString& other) {
  auto* const window = new MainWindow(place, token_, other);
  window->setAttribute(Qt::WA_DeleteOnClose);
  window->show();
  if (session_.place().isEmpty()) close();
}

void MainWindow::AskForFile() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a run log"), {},
                                                    tr("Run logs (*.weirlog);;All files (*)"));
  if (!path.isEmpty()) OpenInNewWindow(path);
}

void MainWindow::AskForOther() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Compare with a run log"), {},
                                                    tr("Run logs (*.weirlog);;All files (*)"));
  if (!path.isEmpty()) OpenInNewWindow(session_.place(), path);
}

void MainWindow::AskForUrl() {
  bool well = false;
  const QString url = QInputDialog::getText(
      this, tr("Connect to a job"), tr("Address of rank 0 (weirrun --metrics-port 9400 opens it):"),
      QLineEdit::Normal, "http://localhost:9400", &well);
  if (well && !url.isEmpty()) OpenInNewWindow(url);
}

void MainWindow::ToggleRecording(bool wanted) {
  if (!wanted) return session_.StopRecording();
  const QString path = QFileDialog::getSaveFileName(this, tr("Record to a file"), "run.weirlog",
                                                    tr("Run logs (*.weirlog)"));
  record_->setChecked(!path.isEmpty());
  if (!path.isEmpty()) session_.Record(path);
}

void MainWindow::OnRecordingEnded(const QString& why) {
  record_->setChecked(false);
  if (!why.isEmpty()) QMessageBox::warning(this, tr("The recording has ended"), why);
}

void MainWindow::AskForExport(const QString& title, const QString& ending, const QString& filter) {
  const QString path = QFileDialog::getSaveFileName(this, title, "weir." + ending, filter);
  if (path.isEmpty()) return;
  try {
    ExportTo(path.endsWith("." + ending) ? path : path + "." + ending);
  } catch (const std::runtime_error& why) {
    QMessageBox::warning(this, title, QString::fromUtf8(why.what()));
  }
}

void MainWindow::ExportTo(const QString& path) {
  Refresh();
  if (path.endsWith(".csv")) {
    Table table;
    WithLook([&](const Look& look) { table = CurrentPage().Export(look); });
    ExportCsv(table, path);
  } else if (path.endsWith(".json")) {
    session_.run().Read([&](const Run& run) { ExportTrace(run, path); });
  } else {
    ExportPng(*this, path);
  }
  status_->setText(tr("wrote %1").arg(path));
}

Page& MainWindow::CurrentPage() const {
  Page* seen = nullptr;
  for (const auto& [dock, page] : pages_) {
    if (page->isAncestorOf(focusWidget())) return *page;
    if (seen == nullptr && page->isVisible()) seen = page;
  }
  return seen == nullptr ? *pages_.front().second : *seen;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  QSettings settings;
  settings.setValue(kGeometryKey, saveGeometry());
  settings.setValue(kLayoutKey, saveState(kLayoutVersion));
  QMainWindow::closeEvent(event);
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) seen_generation_ = UINT64_MAX;
}

}  // namespace weir::monitor
