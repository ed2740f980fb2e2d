// A chart's values at the mouse.
#include <QChart>
#include <QHelpEvent>
#include <QLogValueAxis>
#include <QTest>
#include <QToolTip>
#include <QVBoxLayout>

#include "monitor_gui/view/charts/chart_values.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class ChartTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { PrepareWindows("chart-test"); }
  void EachLineHasThePointThatLiesNearest_data();
  void EachLineHasThePointThatLiesNearest();
  void WithoutPointsThereIsNothingToSay();
  void TheToolTipIsOfTheMousesPlace();
  void ARatioOfOneIsAtTheTopOfItsAxis();
  void PlotsAboveEachOtherBeginAtOnePlace();
};

namespace {

LineChart* Chart(QWidget* parent, const std::vector<LineChart::Line>& lines) {
  auto* const chart = new LineChart("Step time", "step", "ms", LineChart::Scale::kLinear, parent);
  chart->Show(lines);
  return chart;
}

const std::vector<LineChart::Line> kLines{
    {.name = "mean", .color = Qt::blue, .points = {{10, 1.5}, {11, 2.5}, {20, 12345.678}}},
    {.name = "nothing", .color = Qt::blue, .points = {}},
    {.name = "worst", .color = Qt::red, .points = {{12, 4}}}};

/// The tool tip at a part of the plot's width; empty: there is none.
QString ToolTipAt(LineChart& chart, double part) {
  const QRectF plot = chart.chart()->plotArea();
  const QPoint place =
      chart.mapFromScene(QPointF(plot.left() + part * plot.width(), plot.center().y()));
  QHelpEvent event(QEvent::ToolTip, place, chart.viewport()->mapToGlobal(place));
  QCoreApplication::sendEvent(chart.viewport(), &event);
  return QToolTip::text();
}

}  // namespace

void ChartTest::EachLineHasThePointThatLiesNearest_data() {
  QTest::addColumn<double>("x");
  QTest::addColumn<QString>("text");
  QTest::newRow("before all") << 3.0 << "step 10\nmean: 1.5 ms\nworst: 4 ms";
  QTest::newRow("at a point") << 11.0 << "step 11\nmean: 2.5 ms\nworst: 4 ms";
  QTest::newRow("nearer to the left") << 10.4 << "step 10\nmean: 1.5 ms\nworst: 4 ms";
  QTest::newRow("nearer to the right") << 16.0 << "step 20\nmean: 1.235e+04 ms\nworst: 4 ms";
  QTest::newRow("behind all") << 99.0 << "step 20\nmean: 1.235e+04 ms\nworst: 4 ms";
}

void ChartTest::EachLineHasThePointThatLiesNearest() {
  QFETCH(double, x);
  QWidget parent;
  QTEST(ValuesAt(*Chart(&parent, kLines), x), "text");
}

void ChartTest::WithoutPointsThereIsNothingToSay() {
  QWidget parent;
  QCOMPARE(ValuesAt(*Chart(&parent, {kLines[1]}), 1), QString());
}

void ChartTest::TheToolTipIsOfTheMousesPlace() {
  QWidget parent;
  LineChart* const chart = Chart(&parent, kLines);
  chart->resize(600, 300);
  parent.resize(600, 300);
  parent.show();
  QVERIFY(QTest::qWaitForWindowExposed(&parent));
  QVERIFY(ToolTipAt(*chart, 0.01).startsWith("step 10\n"));
  QVERIFY(ToolTipAt(*chart, 0.95).startsWith("step 20\n"));
  ToolTipAt(*chart, -0.05);  // On the axis' labels. Hiding takes Qt a moment.
  QTRY_VERIFY(!QToolTip::isVisible());
}

void ChartTest::ARatioOfOneIsAtTheTopOfItsAxis() {
  QWidget parent;
  LineChart chart("Density", "step", "ratio", LineChart::Scale::kLogarithmic, &parent);
  chart.Show({{.name = "all", .color = Qt::blue, .points = {{0, 1}, {1, 1}}}});
  const auto axes = chart.chart()->axes(Qt::Vertical);
  const auto* const axis = qobject_cast<QLogValueAxis*>(axes.at(0));
  QVERIFY(axis != nullptr);
  QCOMPARE(axis->max(), 1.0);
  QVERIFY(axis->min() < 0.11 && axis->min() > 0.09);
}

void ChartTest::PlotsAboveEachOtherBeginAtOnePlace() {
  QWidget parent;
  QVBoxLayout layout(&parent);
  LineChart* const narrow = Chart(&parent, {{.name = "a", .color = Qt::red, .points = {{0, 1}}}});
  LineChart* const wide = Chart(&parent, {{.name = "a", .color = Qt::red, .points = {{0, 1e-7}}}});
  layout.addWidget(narrow);
  layout.addWidget(wide);
  parent.resize(600, 600);
  parent.show();
  QVERIFY(QTest::qWaitForWindowExposed(&parent));
  const auto left = [](const LineChart* chart) { return chart->chart()->plotArea().left(); };
  QVERIFY(left(wide) > left(narrow) + 4);
  AlignPlots({narrow, wide});
  parent.resize(700, 600);
  QTRY_VERIFY(qAbs(left(narrow) - left(wide)) <= 2);
  // Whatever comes later.
  narrow->Show({{.name = "a", .color = Qt::red, .points = {{0, 1234567.8}}}});
  QTRY_VERIFY(qAbs(left(narrow) - left(wide)) <= 2 && left(wide) > 60);
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::ChartTest)
#include <chart_test.moc>
