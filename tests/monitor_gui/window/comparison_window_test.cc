// The window on two runs: the strip, the charts and the tables show both.
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "monitor_gui/view/charts/line_chart.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class ComparisonWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void TheStripShowsBothRunsAndTheRatio();
  void OtherCurvesAreDashed();
  void WhatIsOnlyInOneRunIsSaidAboveThePages();
  void TablesNameTheRun();
  void BothRunsAreLookedAtAfterAsManySteps();

 private:
  QTemporaryDir folder_;
  QString a_;
  QString b_;
};

namespace {

/// Makes a run of one rank: 20 steps, twice as long as MadeRun's, without one of its layers.
QByteArray OtherRun() {
  std::vector<MadeStep> steps;
  std::vector<MadeGradient> gradients;
  for (qint64 step = 0; step < 20; ++step) {
    steps.push_back({.step = 2 * step,
                     .duration_ms = 200,
                     .exposed_communication_ms = 20,
                     .payload_bytes = 4000,
                     .dense_bytes = 100'000});
    gradients.push_back({.step = 2 * step});
    gradients.push_back({.step = 2 * step, .gradient = 1});
  }
  return RunBlock(0, 1) + NamesBlock(0, {"conv1.weight", "head"}, 5000) + StepsBlock(0, steps) +
         GradientsBlock(0, gradients);
}

void ShowBoth(MainWindow& window) {
  ShowLoaded(window);
  QTRY_VERIFY(window.other_session()->run().Read(
      [](const Run& run) { return run.layers().layers().size() == 2; }));
  window.Refresh();
}

}  // namespace

void ComparisonWindowTest::initTestCase() {
  PrepareWindows("comparison-window-test");
  a_ = folder_.filePath("a.weirlog");
  b_ = folder_.filePath("b.weirlog");
  WriteFile(a_, MadeRun());
  WriteFile(b_, OtherRun());
}

void ComparisonWindowTest::TheStripShowsBothRunsAndTheRatio() {
  MainWindow window(a_, {}, b_);
  ShowBoth(window);
  QCOMPARE(TileOf(window, "Wire ratio").value(), QString("100×"));
  QCOMPARE(TileOf(window, "Wire ratio").remark(), QString("B 25.0×, 0.250×"));
  QCOMPARE(TileOf(window, "Step time").value(), QString("100 ms"));
  QCOMPARE(TileOf(window, "Step time").remark(), QString("B 200 ms, 2.00×"));
}

void ComparisonWindowTest::OtherCurvesAreDashed() {
  MainWindow window(a_, {}, b_);
  window.ShowPage("bandwidth");
  ShowBoth(window);
  window.Refresh();
  std::map<QString, Qt::PenStyle> styles;
  for (auto* chart : window.findChildren<LineChart*>()) {
    for (const LineChart::Line& line : chart->lines()) styles[line.name] = line.style;
  }
  QCOMPARE(styles["payload A"], Qt::SolidLine);
  QCOMPARE(styles["payload B"], Qt::DashLine);
  QCOMPARE(styles["dense A"], Qt::DotLine);
  QCOMPARE(styles["dense B"], Qt::DashDotLine);
}

void ComparisonWindowTest::WhatIsOnlyInOneRunIsSaidAboveThePages() {
  MainWindow window(a_, {}, b_);
  ShowBoth(window);
  QString said;
  for (const QLabel* label : window.findChildren<QLabel*>()) said += label->text();
  QVERIFY2(said.contains("Only in A: conv2.weight, fc.weight."), qPrintable(said));
  QVERIFY2(said.contains("Only in B: head."), qPrintable(said));
}

void ComparisonWindowTest::TablesNameTheRun() {
  MainWindow window(a_, {}, b_);
  window.ShowPage("ranks");
  ShowBoth(window);
  auto* const table = window.findChild<QDockWidget*>("ranks")->findChild<QTableView*>();
  QVERIFY(!table->isColumnHidden(0));
  QCOMPARE(table->model()->rowCount(), 3);
  QCOMPARE(table->model()->index(0, 0).data().toString(), "A");
  QCOMPARE(table->model()->index(2, 0).data().toString(), "B");
}

void ComparisonWindowTest::BothRunsAreLookedAtAfterAsManySteps() {
  MainWindow window(a_, {}, b_);
  ShowBoth(window);
  window.replay().GoTo(7);
  QCOMPARE(TileOf(window, "Step").value(), "7");
  QCOMPARE(TileOf(window, "Step").remark(), "B 6");  // It has every second one.
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::ComparisonWindowTest)
#include <comparison_window_test.moc>
