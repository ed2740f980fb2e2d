// The window at a step that a person chose: all pages, keys, and a job that goes on meanwhile.
#include <QLineEdit>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/monitor_gui/source/fake_endpoint.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class ReplayWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void TheSliderMovesAllPages();
  void KeysChooseStepsWhateverHasTheFocus();
  void KeysOfATextStayWithIt();
  void SpacePlaysAndPauses();
  void ALiveViewThatWasScrubbedBackSaysSo();

 private:
  QTemporaryDir folder_;
  QString path_;
};

namespace {

QString TextOf(MainWindow& window, const QString& dock, int row, int column) {
  auto* const table = window.findChild<QDockWidget*>(dock)->findChild<QTableView*>();
  return table->model()->index(row, column).data().toString();
}

QString FirstTile(MainWindow& window) { return window.findChildren<Tile*>().front()->value(); }

bool Says(QWidget& widget, const QString& text) {
  for (const QLabel* label : widget.findChildren<QLabel*>())
    if (label->text().contains(text)) return true;
  return false;
}

}  // namespace

void ReplayWindowTest::initTestCase() {
  PrepareWindows("replay-window-test");
  path_ = folder_.filePath("run.weirlog");
  WriteFile(path_, MadeRun());
}

void ReplayWindowTest::TheSliderMovesAllPages() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  QCOMPARE(FirstTile(window), "39");
  auto* const slider = window.findChild<ReplayBar*>()->findChild<QSlider*>();
  QCOMPARE(slider->maximum(), 39);
  slider->setValue(5);
  QCOMPARE(FirstTile(window), "5");
  window.ShowPage("lanes");
  window.Refresh();
  auto* const lanes = window.findChild<LanesPage*>();
  QCOMPARE(lanes->time_window().end_ns, 600'000'000);
  constexpr int kDensity = 6;
  window.ShowPage("layers");
  window.Refresh();
  QCOMPARE(TextOf(window, "layers", 0, kDensity), "10.0 %");  // While it warmed up.
  constexpr int kStep = 5;                                    // Behind the run, which is hidden.
  window.ShowPage("ranks");
  window.Refresh();
  QCOMPARE(TextOf(window, "ranks", 0, kStep), "5");
  QVERIFY(Says(*window.findChild<ReplayBar*>(), "step 5 of 39"));
}

void ReplayWindowTest::KeysChooseStepsWhateverHasTheFocus() {
  MainWindow window(path_, {});
  window.ShowPage("layers");
  ShowLoaded(window);
  const Replay& replay = window.replay().replay();
  auto* const table = window.findChild<QDockWidget*>("layers")->findChild<QTableView*>();
  auto* const slider = window.findChild<ReplayBar*>()->findChild<QSlider*>();
  for (QWidget* focus : {static_cast<QWidget*>(table), static_cast<QWidget*>(slider)}) {
    QTest::keyClick(focus, Qt::Key_Left);
    QTest::keyClick(focus, Qt::Key_Left);
    QCOMPARE(replay.step(), 37);
    QTest::keyClick(focus, Qt::Key_Right);
    QCOMPARE(replay.step(), 38);
    QTest::keyClick(focus, Qt::Key_Home);
    QCOMPARE(replay.step(), 0);
    QTest::keyClick(focus, Qt::Key_End);
    QVERIFY(replay.following());
  }
}

void ReplayWindowTest::KeysOfATextStayWithIt() {
  MainWindow window(path_, {});
  window.ShowPage("layers");
  ShowLoaded(window);
  auto* const filter = window.findChild<QDockWidget*>("layers")->findChild<QLineEdit*>();
  QTest::keyClicks(filter, "a b");
  QTest::keyClick(filter, Qt::Key_Left);
  QCOMPARE(filter->text(), "a b");
  QCOMPARE(filter->cursorPosition(), 2);
  QVERIFY(window.replay().replay().following());
}

void ReplayWindowTest::SpacePlaysAndPauses() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  const Replay& replay = window.replay().replay();
  auto* const lanes = window.findChild<LanesPage*>()->focusProxy();
  QTest::keyClick(lanes, Qt::Key_Space);
  QVERIFY(replay.playing());
  QTRY_VERIFY(replay.step() >= 2);  // By itself.
  QTest::keyClick(lanes, Qt::Key_Space);
  QVERIFY(!replay.playing());
}

void ReplayWindowTest::ALiveViewThatWasScrubbedBackSaysSo() {
  FakeEndpoint endpoint;
  endpoint.Add(MadeBlock("run", 0).Text(R"({"rank": 0, "size": 1, "host": "h"})"));
  const auto add_steps = [&](const std::vector<qint64>& steps) {
    std::vector<qint64> starts;
    std::vector<qint64> ends;
    for (const qint64 step : steps) {
      starts.push_back(step * 1'000'000);
      ends.push_back((step + 1) * 1'000'000);
    }
    endpoint.Add(MadeBlock("steps", 0)
                     .Column("step", "<i8", steps)
                     .Column("start_ns", "<i8", starts)
                     .Column("end_ns", "<i8", ends));
  };
  add_steps({0, 1, 2, 3});
  MainWindow window(endpoint.url(), {});
  window.show();
  QVERIFY(QTest::qWaitForWindowExposed(&window));
  auto& bar = *window.findChild<ReplayBar*>();
  const Replay& replay = window.replay().replay();
  QTRY_COMPARE(replay.step(), 3);
  QVERIFY(Says(bar, "Live"));
  QToolButton* back = nullptr;
  for (auto* button : bar.findChildren<QToolButton*>())
    if (button->text() == "Back to live") back = button;
  QVERIFY(back != nullptr && !back->isVisible());

  QTest::keyClick(&window, Qt::Key_Left);
  add_steps({4});
  QTRY_COMPARE(replay.steps().last, 4);
  QCOMPARE(FirstTile(window), "2");
  QVERIFY(Says(bar, "Not following"));
  QVERIFY(back->isVisible());
  QTest::mouseClick(back, Qt::LeftButton);
  QVERIFY(Says(bar, "Live"));
  add_steps({5});
  QTRY_COMPARE(FirstTile(window), "5");
  endpoint.Close();
  QTRY_VERIFY(Says(bar, "No rank answers"));
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::ReplayWindowTest)
#include <replay_window_test.moc>
