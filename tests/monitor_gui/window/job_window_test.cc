// The window on a real job of four ranks, from the first look to the job's end and its return.
// Arguments before Qt's: weirrun, problems (examples/problems).
#include <QAbstractItemView>
#include <QApplication>
#include <QFileInfo>
#include <QImage>
#include <QLineEdit>
#include <QProcess>
#include <QSignalSpy>
#include <QSlider>
#include <QTableView>
#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <utility>

#include "monitor_gui/view/pages/lanes_page.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {
namespace {

constexpr int kRanks = 4;
constexpr int kPatienceMs = 60'000;

/// The first of kRanks ports in a row that nobody uses.
quint16 FreePorts() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::array<QTcpServer, kRanks> servers;
    servers[0].listen(QHostAddress::LocalHost);
    const quint16 first = servers[0].serverPort();
    bool free = first < 65535 - kRanks;
    for (int i = 1; free && i < kRanks; ++i)
      free = servers[i].listen(QHostAddress::LocalHost, static_cast<quint16>(first + i));
    if (free) return first;
  }
  qFatal("no free ports");
}

/// examples/problems' sound training under weirrun, until it is told to end.
class TrainingJob {
 public:
  TrainingJob(const QString& weirrun, const QString& problems, quint16 port) {
    process_.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    process_.start(weirrun,
                   {"-np", QString::number(kRanks), "--metrics-port", QString::number(port),
                    "--no-summary", problems, "none", "--steps", "1000000"});
  }
  ~TrainingJob() {
    process_.terminate();
    if (!process_.waitForFinished(kPatienceMs)) process_.kill();
  }
  bool runs() const { return process_.state() != QProcess::NotRunning; }

 private:
  QProcess process_;
};

std::int64_t NewestStep(MainWindow& window) {
  return window.session().run().Read([](const Run& run) { return StepsOf(run).last; });
}

/// How many ranks are in this state.
qsizetype RanksThatAre(RankLink::State state, MainWindow& window) {
  return window.session().run().Read([&](const Run& run) {
    return std::ranges::count_if(run.links(),
                                 [&](const auto& l) { return l.second.state == state; });
  });
}

}  // namespace

class JobWindowTest : public QObject {
  Q_OBJECT
 public:
  JobWindowTest(QString weirrun, QString problems)
      : weirrun_(std::move(weirrun)), problems_(std::move(problems)) {}

 private slots:
  void initTestCase();
  void init();
  void cleanup();
  void EveryPageShowsTheJob_data();
  void EveryPageShowsTheJob();
  void LayersAreFilteredAndLanesZoomed();
  void WhatWasRecordedIsReplayedAndCompared();
  void WhatIsShownIsExported();
  void AJobThatIsLostIsFoundAgain();

 private:
  void StartJob() { job_ = std::make_unique<TrainingJob>(weirrun_, problems_, port_); }

  const QString weirrun_;
  const QString problems_;
  QTemporaryDir folder_;
  quint16 port_ = 0;
  std::unique_ptr<TrainingJob> job_;
  std::unique_ptr<MainWindow> window_;
};

void JobWindowTest::initTestCase() {
  PrepareWindows("job-window-test");
  port_ = FreePorts();
  StartJob();
}

/// A window that has found the job by the address of rank 0 alone, and follows it.
void JobWindowTest::init() {
  QVERIFY(job_->runs());
  window_ = std::make_unique<MainWindow>(QString("http://127.0.0.1:%1").arg(port_), QString());
  window_->resize(1200, 760);
  window_->show();
  QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  QTRY_COMPARE_WITH_TIMEOUT(RanksThatAre(RankLink::State::kLive, *window_), kRanks, kPatienceMs);
  QTRY_VERIFY_WITH_TIMEOUT(NewestStep(*window_) > 10, kPatienceMs);
  window_->Refresh();
}

void JobWindowTest::cleanup() { window_.reset(); }

void JobWindowTest::EveryPageShowsTheJob_data() {
  QTest::addColumn<QString>("page");
  for (const QString& page : MainWindow::PageNames()) QTest::newRow(qPrintable(page)) << page;
}

void JobWindowTest::EveryPageShowsTheJob() {
  QFETCH(QString, page);
  QVERIFY(window_->ShowPage(page));
  auto* const dock = window_->findChild<QDockWidget*>(page);
  QTRY_VERIFY(dock->widget()->isVisible());
  window_->Refresh();
  QTRY_VERIFY(window_->IsReady());
  QTRY_VERIFY(Colors(*dock->widget()) > 8);
  for (const auto* view : dock->findChildren<QTableView*>()) {
    if (view->isVisible()) QTRY_VERIFY(view->model()->rowCount() > 0);
  }
  // It goes on while one looks.
  const std::int64_t step = NewestStep(*window_);
  QTRY_VERIFY_WITH_TIMEOUT(NewestStep(*window_) > step, kPatienceMs);
}

void JobWindowTest::LayersAreFilteredAndLanesZoomed() {
  window_->ShowPage("layers");
  auto* const dock = window_->findChild<QDockWidget*>("layers");
  auto* const table = dock->findChild<QTableView*>();
  window_->Refresh();
  QTRY_COMPARE(table->model()->rowCount(), 12);
  const QString one = table->model()->index(3, 0).data().toString();
  QTest::keyClicks(dock->findChild<QLineEdit*>(), one);
  QVERIFY(table->model()->rowCount() < 12);
  for (int row = 0; row < table->model()->rowCount(); ++row)
    QVERIFY(table->model()->index(row, 0).data().toString().contains(one));

  window_->ShowPage("lanes");
  window_->Refresh();
  auto* const lanes = window_->findChild<LanesPage*>();
  const std::int64_t length = lanes->time_window().length_ns();
  QTest::keyClick(lanes->findChild<QAbstractItemView*>(), Qt::Key_Plus);
  QVERIFY(lanes->time_window().length_ns() < length);
}

void JobWindowTest::WhatWasRecordedIsReplayedAndCompared() {
  const QString path = folder_.filePath("recorded.weirlog");
  window_->session().Record(path);
  const std::int64_t begun = NewestStep(*window_);
  QTRY_VERIFY_WITH_TIMEOUT(NewestStep(*window_) > begun + 30, kPatienceMs);
  QSignalSpy ended(&window_->session(), &Session::RecordingEnded);
  window_->session().StopRecording();
  QTRY_COMPARE(ended.count(), 1);
  QCOMPARE(ended[0][0].toString(), QString());

  MainWindow replayed(path, {}, path);
  QVERIFY(replayed.other_session() != nullptr);
  const QSignalSpy read(&replayed.session(), &Session::Finished);
  const QSignalSpy other_read(replayed.other_session(), &Session::Finished);
  replayed.show();
  QTRY_COMPARE(read.count() + other_read.count(), 2);
  QTRY_VERIFY(NewestStep(replayed) > begun + 10);
  QTRY_COMPARE(RanksThatAre(RankLink::State::kRecorded, replayed), kRanks);
  replayed.Refresh();
  auto* const slider = replayed.findChild<QSlider*>();
  slider->setValue(slider->maximum() - 5);
  QCOMPARE(TileOf(replayed, "Step").value(), QString::number(NewestStep(replayed) - 5));
  // The same run twice: B takes as long as A.
  const QString remark = TileOf(replayed, "Step time").remark();
  QVERIFY2(remark.contains("1.00"), qPrintable(remark));
}

void JobWindowTest::WhatIsShownIsExported() {
  for (const QString& name : QStringList{"window.png", "page.csv", "run.json"}) {
    window_->ExportTo(folder_.filePath(name));
    QVERIFY2(QFileInfo(folder_.filePath(name)).size() > 100, qPrintable(name));
  }
  QCOMPARE(QImage(folder_.filePath("window.png")).size(), window_->size());
}

void JobWindowTest::AJobThatIsLostIsFoundAgain() {
  job_.reset();
  QTRY_COMPARE_WITH_TIMEOUT(RanksThatAre(RankLink::State::kLost, *window_), kRanks, kPatienceMs);
  window_->Refresh();
  QCOMPARE(TileOf(*window_, "Health").value(), "Trouble");
  QVERIFY(window_->findChild<QDockWidget*>("lanes") != nullptr);  // Data seen before stays.
  QVERIFY(NewestStep(*window_) > 10);
  StartJob();
  QTRY_COMPARE_WITH_TIMEOUT(RanksThatAre(RankLink::State::kLive, *window_), kRanks, kPatienceMs);
  QTRY_VERIFY_WITH_TIMEOUT((window_->Refresh(), TileOf(*window_, "Health").value() != "Trouble"),
                           kPatienceMs);
}

}  // namespace weir::monitor

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  if (argc < 3) qFatal("weirrun and problems are meant");
  weir::monitor::JobWindowTest test(argv[1], argv[2]);
  argv[2] = argv[0];
  return QTest::qExec(&test, argc - 2, argv + 2);
}

#include <job_window_test.moc>
