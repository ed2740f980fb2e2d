// What all pages share: the step under the mouse, a step and a layer that a person chose.
#include <QLabel>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "monitor_gui/view/charts/heat_map.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/pages/layers_page.h"
#include "monitor_gui/view/pages/overview_page.h"
#include "monitor_gui/view/tables/roles.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class CursorWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void TheOverviewComesFirst();
  void AStepUnderTheMouseIsShownInAllCharts();
  void AClickInAChartChoosesItsStep();
  void AClickInTheHeatMapChoosesItsStepAndLayer();
  void ASlowLayerThatIsChosenIsChosenInAllPages();
  void AdviceLeadsToThePageThatShowsMore();
  void ChangesOfThePlanAreMarkedInTheCharts();

 private:
  QTemporaryDir folder_;
  QString path_;
};

namespace {

LineChart& ChartOf(QWidget& page, const QString& title) {
  const auto charts = page.findChildren<LineChart*>();
  return **std::ranges::find_if(
      charts, [&](const LineChart* chart) { return chart->title().startsWith(title); });
}

QPoint PlaceOf(const LineChart& chart, double step) {
  return QPointF(chart.XOf(step), chart.plot_area().center().y()).toPoint();
}

bool IsSeen(const QWidget& widget) {
  const QPoint at = widget.mapTo(widget.window(), QPoint());
  return widget.isVisible() && widget.window()->rect().intersects(QRect(at, widget.size()));
}

}  // namespace

void CursorWindowTest::initTestCase() {
  PrepareWindows("cursor-window-test");
  path_ = folder_.filePath("run.weirlog");
  WriteFile(path_,
            MadeRun() + PlanBlock(0, {.settled = false}) +
                PlanBlock(0, {.from_step = 20, .what = "dense", .forms = {"dense", "dense"}}));
}

void CursorWindowTest::TheOverviewComesFirst() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  QTRY_VERIFY(IsSeen(*window.findChild<OverviewPage*>()));
  window.activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(&window));
  QTest::keyClick(&window, Qt::Key_3, Qt::ControlModifier);
  QTRY_VERIFY(IsSeen(*window.findChild<LayersPage*>()));
  QTest::keyClick(&window, Qt::Key_1, Qt::ControlModifier);
  QTRY_VERIFY(IsSeen(*window.findChild<OverviewPage*>()));
}

void CursorWindowTest::AStepUnderTheMouseIsShownInAllCharts() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  auto& page = *window.findChild<OverviewPage*>();
  LineChart& parts = ChartOf(page, "A step");
  LineChart& density = ChartOf(page, "Density");
  QCOMPARE(density.LegendTexts().back(), "configured 1.00 %");
  QTest::mouseMove(&parts, PlaceOf(parts, 5));
  QTRY_COMPARE(density.LegendTexts().back(), "configured 10.0 %");
  QTest::mouseMove(page.findChild<QTableView*>("slowest"), {5, 5});
  QTRY_COMPARE(density.LegendTexts().back(), "configured 1.00 %");
}

void CursorWindowTest::AClickInAChartChoosesItsStep() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  LineChart& parts = ChartOf(*window.findChild<OverviewPage*>(), "A step");
  QTest::mouseClick(&parts, Qt::LeftButton, {}, PlaceOf(parts, 5));
  QCOMPARE(window.replay().replay().step(), 5);
  window.ShowPage("bandwidth");
  window.Refresh();
  // Over seconds: step 7 ends at 0.8 s.
  LineChart& waiting = ChartOf(*window.findChild<QDockWidget*>("bandwidth"), "Waiting");
  waiting.Show({{.name = "a", .color = Qt::blue, .points = {{0, 1}, {4, 1}}}});
  QTest::mouseClick(&waiting, Qt::LeftButton, {}, PlaceOf(waiting, 0.75));
  QCOMPARE(window.replay().replay().step(), 7);
}

void CursorWindowTest::AClickInTheHeatMapChoosesItsStepAndLayer() {
  MainWindow window(path_, {});
  window.ShowPage("layers");
  ShowLoaded(window);
  auto& page = *window.findChild<LayersPage*>();
  auto& map = *page.findChild<HeatMap*>();
  window.Refresh();
  // Three layers of 40 steps; their names stand at the left.
  const int left = 180;
  const int width = map.viewport()->width() - left;
  QTest::mouseClick(map.viewport(), Qt::LeftButton, {}, {left + width * 10 / 40 + 3, 26 + 22 + 5});
  QCOMPARE(window.replay().replay().step(), 10);
  const auto selected = page.findChild<QTableView*>()->selectionModel()->selectedRows();
  QCOMPARE(selected.size(), 1);
  QCOMPARE(selected[0].data().toString(), "conv2.weight");
}

void CursorWindowTest::ASlowLayerThatIsChosenIsChosenInAllPages() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  auto& slowest = *window.findChild<QTableView*>("slowest");
  QCOMPARE(slowest.model()->index(0, 0).data().toString(), "fc.weight");
  QTest::mouseClick(slowest.viewport(), Qt::LeftButton, {},
                    slowest.visualRect(slowest.model()->index(0, 0)).center());
  window.ShowPage("layers");
  window.Refresh();
  auto& table = *window.findChild<LayersPage*>()->findChild<QTableView*>();
  QTRY_COMPARE(table.selectionModel()->selectedRows().size(), 1);
  QCOMPARE(table.selectionModel()->selectedRows()[0].data().toString(), "fc.weight");
}

void CursorWindowTest::AdviceLeadsToThePageThatShowsMore() {
  const QString path = folder_.filePath("slow.weirlog");
  WriteFile(path, MadeRun() + StallsBlock(9000, {{.name = "loss", .missing = {1}}}));
  MainWindow window(path, {});
  ShowLoaded(window);
  auto* const advice = window.findChild<OverviewPage*>()->findChild<QLabel*>("advice");
  QVERIFY2(advice->text().contains("'loss' has waited") ||
               advice->text().contains("&#39;loss&#39; has waited"),
           qPrintable(advice->text()));
  QVERIFY(advice->text().contains("href=\"ranks\""));
  emit advice->linkActivated("ranks");
  QTRY_VERIFY(IsSeen(*window.findChild<QDockWidget*>("ranks")->widget()));
}

void CursorWindowTest::ChangesOfThePlanAreMarkedInTheCharts() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  for (const char* title : {"A step", "Bytes a second", "Density"}) {
    const LineChart& chart = ChartOf(*window.findChild<OverviewPage*>(), title);
    QCOMPARE(chart.events().size(), 1u);
    QCOMPARE(chart.events()[0].x, 20.0);
    QCOMPARE(chart.events()[0].text, "step 20: chooses dense");
  }
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::CursorWindowTest)
#include <cursor_window_test.moc>
