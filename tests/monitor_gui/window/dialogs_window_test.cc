// The window's dialogs: answered as a person would, and cancelled.
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QDir>
#include <QFileInfo>
#include <QLineEdit>
#include <QMessageBox>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <functional>
#include <vector>

#include "tests/monitor_gui/source/fake_endpoint.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {
namespace {

/// Chooses from the window's menus by what is read there, and answers the dialogs that open, one
/// after the other. False: one of them did not open.
bool Choose(MainWindow& window, const QString& text,
            std::vector<std::function<bool(QWidget&)>> answers) {
  QAction* chosen = nullptr;
  for (QAction* const action : window.findChildren<QAction*>())
    if (action->text().remove('&') == text) chosen = action;
  if (chosen == nullptr || !chosen->isEnabled()) return false;
  const QWidget* answered = nullptr;
  std::size_t next = 0;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    QWidget* const dialog = QApplication::activeModalWidget();
    if (dialog == nullptr || dialog == answered) return;
    answered = dialog;
    const bool answers_it = next < answers.size() && answers[next](*dialog);
    next = answers_it ? next + 1 : SIZE_MAX;
    if (!answers_it) static_cast<QDialog*>(dialog)->reject();
  });
  timer.start(1);
  chosen->trigger();
  return next == answers.size();
}

bool CallOff(QWidget& dialog) {
  QTest::keyClick(&dialog, Qt::Key_Escape);
  return true;
}

/// Answers a dialog for a file, an address, or a number.
std::function<bool(QWidget&)> Type(const QString& text) {
  return [text](QWidget& dialog) {
    auto* const line = dialog.findChild<QLineEdit*>();
    if (line == nullptr) return false;
    line->setText(text);
    QTest::keyClick(line, Qt::Key_Return);
    return true;
  };
}

/// A message that has this in it.
std::function<bool(QWidget&)> Read(const QString& part) {
  return [part](QWidget& dialog) {
    auto* const message = qobject_cast<QMessageBox*>(&dialog);
    if (message == nullptr || !message->text().contains(part)) return false;
    message->accept();
    return true;
  };
}

/// The windows beside one, which are closed at the end.
class OtherWindows {
 public:
  explicit OtherWindows(const MainWindow& window) {
    for (QWidget* const widget : QApplication::topLevelWidgets()) {
      auto* const other = qobject_cast<MainWindow*>(widget);
      if (other != nullptr && other != &window) windows_ += other;
    }
  }
  ~OtherWindows() { qDeleteAll(windows_); }
  OtherWindows(const OtherWindows&) = delete;
  OtherWindows& operator=(const OtherWindows&) = delete;
  const QList<MainWindow*>& windows() const { return windows_; }

 private:
  QList<MainWindow*> windows_;
};

}  // namespace

class DialogsWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void AnAddressOpensAWindowOnAJob();
  void ARunLogOpensAWindow();
  void ARunLogIsComparedWithWhatIsShown();
  void TheDemoOpensAWindow();
  void WhatIsCalledOffChangesNothing_data();
  void WhatIsCalledOffChangesNothing();
  void AnExportGoesWhereOneSays_data();
  void AnExportGoesWhereOneSays();
  void AnExportThatCannotBeWrittenIsSaid();
  void ARecordingGoesWhereOneSaysUntilItIsChosenAgain();
  void ARecordingThatCannotBeWrittenIsSaid();
  void OnlyAJobIsRecorded();
  void SamplesAreTyped();

 private:
  QTemporaryDir folder_;
  QString path_;
};

void DialogsWindowTest::initTestCase() {
  PrepareWindows("dialogs-window-test");
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  path_ = folder_.filePath("run.weirlog");
  WriteFile(path_, MadeRun());
}

void DialogsWindowTest::AnAddressOpensAWindowOnAJob() {
  const FakeEndpoint job;
  MainWindow window(path_, {});
  QVERIFY(Choose(window, "Connect to a job…", {Type(job.url())}));
  const OtherWindows others(window);
  QCOMPARE(others.windows().size(), 1);
  QCOMPARE(others.windows()[0]->session().place(), job.url());
  QVERIFY(others.windows()[0]->session().is_live());
}

void DialogsWindowTest::ARunLogOpensAWindow() {
  MainWindow window({}, {});
  window.show();
  QVERIFY(Choose(window, "Open a run log…", {Type(path_)}));
  const OtherWindows others(window);
  QCOMPARE(others.windows().size(), 1);
  ShowLoaded(*others.windows()[0]);
  QCOMPARE(TileOf(*others.windows()[0], "Step").value(), "39");
  QVERIFY(!window.isVisible());  // Nothing was open in it.
}

void DialogsWindowTest::ARunLogIsComparedWithWhatIsShown() {
  MainWindow window(path_, {});
  QVERIFY(Choose(window, "Compare with a run log…", {Type(path_)}));
  const OtherWindows others(window);
  QCOMPARE(others.windows().size(), 1);
  QVERIFY(others.windows()[0]->other_session() != nullptr);
  QCOMPARE(others.windows()[0]->other_session()->place(), path_);
  MainWindow empty({}, {});
  QVERIFY(!Choose(empty, "Compare with a run log…", {Type(path_)}));  // With what?
}

void DialogsWindowTest::TheDemoOpensAWindow() {
  MainWindow window(path_, {});
  QVERIFY(Choose(window, "Play the demo", {}));
  const OtherWindows others(window);
  QCOMPARE(others.windows().size(), 1);
  QVERIFY(others.windows()[0]->session().is_demo());
}

void DialogsWindowTest::WhatIsCalledOffChangesNothing_data() {
  QTest::addColumn<QString>("action");
  for (const char* action :
       {"Connect to a job…", "Open a run log…", "Compare with a run log…", "Window as PNG…",
        "Numbers of the page as CSV…", "Run as Perfetto trace…", "Samples in a step…"})
    QTest::newRow(action) << action;
}

void DialogsWindowTest::WhatIsCalledOffChangesNothing() {
  QFETCH(QString, action);
  MainWindow window(path_, {});
  ShowLoaded(window);
  const QFileInfoList files = QDir(folder_.path()).entryInfoList();
  QVERIFY(Choose(window, action, {CallOff}));
  QCOMPARE(OtherWindows(window).windows().size(), 0);
  QCOMPARE(QDir(folder_.path()).entryInfoList().size(), files.size());
  QCOMPARE(TileOf(window, "Samples").remark(), "not told");
}

void DialogsWindowTest::AnExportGoesWhereOneSays_data() {
  QTest::addColumn<QString>("action");
  QTest::addColumn<QString>("typed");
  QTest::addColumn<QString>("written");
  QTest::newRow("png") << "Window as PNG…"
                       << "a.png"
                       << "a.png";
  QTest::newRow("csv") << "Numbers of the page as CSV…"
                       << "a.csv"
                       << "a.csv";
  QTest::newRow("trace") << "Run as Perfetto trace…"
                         << "a.json"
                         << "a.json";
  QTest::newRow("without an ending") << "Window as PNG…"
                                     << "b"
                                     << "b.png";
  QTest::newRow("with another ending") << "Numbers of the page as CSV…"
                                       << "b.txt"
                                       << "b.txt.csv";
}

void DialogsWindowTest::AnExportGoesWhereOneSays() {
  QFETCH(QString, action);
  QFETCH(QString, typed);
  QFETCH(QString, written);
  MainWindow window(path_, {});
  ShowLoaded(window);
  QVERIFY(Choose(window, action, {Type(folder_.filePath(typed))}));
  QVERIFY2(QFileInfo(folder_.filePath(written)).size() > 100, qPrintable(written));
}

void DialogsWindowTest::AnExportThatCannotBeWrittenIsSaid() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  QVERIFY(QDir().mkpath(folder_.filePath("taken/inside.png")));
  QVERIFY(Choose(window, "Window as PNG…",
                 {Type(folder_.filePath("taken/inside")), Read("taken/inside.png")}));
}

void DialogsWindowTest::ARecordingGoesWhereOneSaysUntilItIsChosenAgain() {
  FakeEndpoint job;
  MainWindow window(job.url(), {});
  QTRY_VERIFY(job.logs_asked() > 0);
  const QString path = folder_.filePath("recorded.weirlog");
  QVERIFY(Choose(window, "Record to a file…", {CallOff}));
  QVERIFY(!QFileInfo::exists(path));
  QVERIFY(Choose(window, "Record to a file…", {Type(path)}));
  QTRY_VERIFY(QFileInfo::exists(path));
  QSignalSpy ended(&window.session(), &Session::RecordingEnded);
  QVERIFY(Choose(window, "Record to a file…", {}));
  QTRY_COMPARE(ended.count(), 1);
}

void DialogsWindowTest::ARecordingThatCannotBeWrittenIsSaid() {
  FakeEndpoint job;
  MainWindow window(job.url(), {});
  QTRY_VERIFY(job.logs_asked() > 0);
  window.session().Record(folder_.filePath("no/such/folder.weirlog"));
  bool said = false;
  QTimer timer;
  connect(&timer, &QTimer::timeout, [&] {
    if (QWidget* const dialog = QApplication::activeModalWidget())
      said = Read("no/such/folder.weirlog")(*dialog);
  });
  timer.start(1);
  QTRY_VERIFY(said);
}

void DialogsWindowTest::OnlyAJobIsRecorded() {
  MainWindow window(path_, {});
  QVERIFY(!Choose(window, "Record to a file…", {CallOff}));
}

void DialogsWindowTest::SamplesAreTyped() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  QVERIFY(Choose(window, "Samples in a step…", {Type("256")}));
  QCOMPARE(TileOf(window, "Samples").value(), "2.56 k/s");  // Steps take 100 ms.
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::DialogsWindowTest)
#include <dialogs_window_test.moc>
