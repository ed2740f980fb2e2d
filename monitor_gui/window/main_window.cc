#include "monitor_gui/window/main_window.h"

#include <QAction>
#include <QCloseEvent>
#include <QDateTime>
#include <QInputDialog>
#include <QMenuBar>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>

#include "monitor_gui/run/comparison.h"
#include "monitor_gui/view/pages/bandwidth_page.h"
#include "monitor_gui/view/pages/decisions_page.h"
#include "monitor_gui/view/pages/help_page.h"
#include "monitor_gui/view/pages/layers_page.h"
#include "monitor_gui/view/pages/overview_page.h"
#include "monitor_gui/view/pages/ranks_page.h"
#include "monitor_gui/view/pages/sparsity_page.h"
#include "monitor_gui/view/style/elided_label.h"
#include "monitor_gui/view/style/text_color.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/window/appearance.h"
#include "monitor_gui/window/demo.h"
#include "monitor_gui/window/exports.h"
#include "monitor_gui/window/file_menu.h"

namespace weir::monitor {
namespace {

constexpr int kRefreshMs = 100;
constexpr qint64 kRest = 4;  // Times as long as a refresh has taken.
constexpr const char* kLayoutKey = "window/layout";
constexpr const char* kGeometryKey = "window/geometry";
constexpr int kLayoutVersion = 3;  // For docks and bars: increase it when they change.

}  // namespace

QStringList MainWindow::PageNames() {
  return {"overview", "lanes", "layers", "sparsity", "bandwidth", "decisions", "ranks", "help"};
}

MainWindow::MainWindow(const QString& place, const QString& token, const QString& other)
    : token_(token),
      session_(place, token),
      other_(other.isEmpty() ? nullptr : std::make_unique<Session>(other, token)),
      replay_(session_, other_.get(), *this),
      pages_(*this),
      strip_(new Strip(this)),
      status_(new QLabel(this)) {
  setWindowTitle(place.isEmpty() ? tr("Weir")
                 : other_ == nullptr
                     ? tr("%1 – Weir").arg(session_.title())
                     : tr("%1 beside %2 – Weir").arg(session_.title(), other_->title()));
  setDockNestingEnabled(true);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  MakeBars();
  statusBar()->addWidget(status_, 1);
  resize(1280, 800);
  MakePages();
  MakeMenus();
  const QSettings settings;
  restoreGeometry(settings.value(kGeometryKey).toByteArray());
  if (!restoreState(settings.value(kLayoutKey).toByteArray(), kLayoutVersion))
    pages_.Show("overview");

  Watch(session_);
  if (other_ != nullptr) Watch(*other_);
  connect(&timer_, &QTimer::timeout, this, [this] {
    // While a large run is read, its readers need the time more.
    if (since_refresh_.isValid() && since_refresh_.elapsed() < kRest * refresh_ms_) return;
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
  Begin();
}

void MainWindow::Begin() {
  if (session_.place().isEmpty()) {
    return Notice(
        tr("Nothing is open. Ctrl+N connects to a job, Ctrl+O opens a run log, Ctrl+D "
           "plays the demo, F1 explains what there is to see."));
  }
  Notice(session_.is_live() ? QString() : tr("Reading the run…"));
  if (session_.is_demo())
    connect(&session_, &Session::Finished, &replay_, &ReplayControl::TogglePlaying);
  session_.Start();
  if (other_ != nullptr) other_->Start();
}

void MainWindow::MakeBars() {
  const auto add = [this](const QString& name, const QString& title, Qt::ToolBarArea area,
                          QWidget* widget) {
    auto* const bar = new QToolBar(title, this);
    bar->setObjectName(name);
    bar->setMovable(false);
    bar->addWidget(widget);
    addToolBar(area, bar);
    return bar;
  };
  add("strip", tr("Strip"), Qt::TopToolBarArea, strip_);
  if (other_ != nullptr) {
    fit_ = new ElidedLabel(this);  // Layers may have long names.
    fit_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    addToolBarBreak();
    add("comparison", tr("Comparison"), Qt::TopToolBarArea, fit_)
        ->setToolTip(tr("Layers are compared by name. Numbers of B come with what they are in "
                        "parts of A's; both are looked at after as many steps."));
  }
  notice_ = new QLabel(this);
  notice_->setContentsMargins(16, 4, 16, 8);
  notice_->setWordWrap(true);
  addToolBarBreak();
  notice_bar_ = add("notice", tr("Notice"), Qt::TopToolBarArea, notice_);
  add("replay", tr("Replay"), Qt::BottomToolBarArea, replay_.bar());
}

void MainWindow::Notice(const QString& text, bool is_bad) {
  const Theme theme = Theme::Of(palette());
  SetTextColor(*notice_, is_bad ? theme.bad : palette().color(QPalette::WindowText));
  notice_->setText(text);
  notice_bar_->setVisible(!text.isEmpty());
}

void MainWindow::Watch(Session& session) {
  connect(&session, &Session::Finished, this, [this] {
    if (!has_failed_) Notice({});
  });
  connect(&session, &Session::Failed, this, [this](const QString& why) {
    has_failed_ = true;
    Notice(why, true);
  });
  connect(&session, &Session::Said, status_, &QLabel::setText);
  connect(&session, &Session::Failed, status_, &QLabel::setText);
}

std::uint64_t MainWindow::Generation() const {
  return session_.run().generation() + (other_ == nullptr ? 0 : other_->run().generation());
}

void MainWindow::WithLook(const std::function<void(const Look&)>& look) {
  session_.run().Read([&](const Run& run) {
    const std::int64_t step = replay_.step_to_show();
    if (other_ == nullptr) return look({.run = run, .at = MomentOf(run, step)});
    other_->run().Read([&](const Run& other) {
      look({.run = run,
            .at = MomentOf(run, step),
            .other = &other,
            .other_at = MomentOf(other, step)});
    });
  });
}

std::unique_ptr<Page> MainWindow::MakePage(const QString& name, bool compares) {
  if (name == "overview") return std::make_unique<OverviewPage>();
  if (name == "lanes")
    return std::make_unique<LanesPage>([this](const auto& look) { WithLook(look); });
  if (name == "layers") return std::make_unique<LayersPage>(compares);
  if (name == "sparsity") return std::make_unique<SparsityPage>();
  if (name == "bandwidth") return std::make_unique<BandwidthPage>();
  if (name == "decisions") return std::make_unique<DecisionsPage>();
  if (name == "ranks") return std::make_unique<RanksPage>();
  return std::make_unique<HelpPage>([this](const QString& page) { return MakePage(page, false); },
                                    ReadDemo);
}

void MainWindow::MakePages() {
  const std::vector<std::pair<QString, QList<QKeySequence>>> titles = {
      {tr("&Overview"), {QKeySequence("Ctrl+1")}},
      {tr("&Lanes"), {QKeySequence("Ctrl+2")}},
      {tr("La&yers"), {QKeySequence("Ctrl+3")}},
      {tr("&Sparsity"), {QKeySequence("Ctrl+4")}},
      {tr("&Bandwidth"), {QKeySequence("Ctrl+5")}},
      {tr("&Decisions"), {QKeySequence("Ctrl+6")}},
      {tr("&Ranks"), {QKeySequence("Ctrl+7")}},
      {tr("&Help"), {QKeySequence("F1"), QKeySequence("?")}}};
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const QString name = PageNames().at(static_cast<qsizetype>(i));
    Page* const page =
        MakePage(name, other_ != nullptr).release();  // The dock owns it from here on.
    if (name == "lanes") lanes_ = static_cast<LanesPage*>(page);
    pages_.Add(name, titles[i].first, titles[i].second, page);
  }
  connect(&pages_, &PageDocks::RefreshWanted, this, &MainWindow::Refresh);
  connect(&pages_, &PageDocks::StepChosen, &replay_, &ReplayControl::GoTo);
  // A page is not refreshed while it is hidden.
  connect(&pages_, &PageDocks::Uncovered, this, [this] { seen_generation_ = UINT64_MAX; });
}

void MainWindow::MakeMenus() {
  new FileMenu(*this);
  QMenu* const view = menuBar()->addMenu(tr("&View"));
  view->addActions(actions());
  view->addSeparator();
  follow_ = view->addAction(tr("&Follow the newest"));
  follow_->setCheckable(true);
  connect(follow_, &QAction::triggered, &replay_, &ReplayControl::SetFollowing);
  view->addAction(tr("S&amples in a step…"), this, &MainWindow::AskForSamples);
  QAction* const dark = view->addAction(tr("&Dark"), this, &SetDark);
  dark->setCheckable(true);
  dark->setChecked(IsDark());
}

void MainWindow::Refresh() {
  since_refresh_.start();
  seen_generation_ = Generation();
  replay_.Update();
  WithLook([&](const Look& look) {
    const Summary summary = SummaryOf(look.run, look.at);
    if (look.other == nullptr) {
      strip_->Show(summary);
    } else {
      const Summary other = SummaryOf(*look.other, look.other_at);
      strip_->Show(summary, &other);
      ShowFit(look);
    }
    pages_.Refresh(look);
  });
  follow_->setChecked(replay_.replay().following());
  refresh_ms_ = since_refresh_.restart();
}

Summary MainWindow::SummaryOf(const Run& run, const Moment& at) const {
  Summary summary = Summarise(run, QDateTime::currentMSecsSinceEpoch(), at);
  if (samples_per_step_ > 0 && summary.step_seconds > 0)
    summary.samples_per_second = samples_per_step_ / summary.step_seconds;
  return summary;
}

void MainWindow::SetSamplesPerStep(double samples) {
  samples_per_step_ = samples;
  Refresh();
}

void MainWindow::AskForSamples() {
  bool well = false;
  const double samples = QInputDialog::getDouble(
      this, tr("Samples in a step"),
      tr("How many samples all ranks take in a step together (0: what the job says):"),
      samples_per_step_, 0, 1e12, 0, &well);
  if (well) SetSamplesPerStep(samples);
}

void MainWindow::ShowFit(const Look& look) {
  const QStringList fit = DescribeFit(look.run, *look.other);
  fit_->setText(tr("    A: %1    B: %2 (dashed)    %3")
                    .arg(session_.title(), other_->title(), fit.join(" ")));
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

void MainWindow::ExportTo(const QString& path) {
  Refresh();
  if (path.endsWith(".csv")) {
    Table table;
    WithLook([&](const Look& look) { table = pages_.current().Export(look); });
    ExportCsv(table, path);
  } else if (path.endsWith(".json")) {
    session_.run().Read([&](const Run& run) { ExportTrace(run, path); });
  } else {
    ExportPng(*this, path);
  }
  status_->setText(tr("wrote %1").arg(path));
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
