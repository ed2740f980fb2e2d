// A chart's values at the mouse.
#include <QHelpEvent>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>
#include <QVBoxLayout>

#include "monitor_gui/view/charts/chart_values.h"
#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/style/units.h"
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
  void TheTitlesLineHasTheValuesAtTheCursor();
  void TheMouseMovesTheCursorAndChoosesAPlace();
  void AnEventIsInTheToolTipOfItsPlace();
  void AreasStandOnEachOther();
  void AnOutlierIsCutOffWhereThatIsWanted();
  void TicksAreRoundAndFew_data();
  void TicksAreRoundAndFew();
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
  const QRectF plot = chart.plot_area();
  const QPoint place = QPointF(plot.left() + part * plot.width(), plot.center().y()).toPoint();
  QHelpEvent event(QEvent::ToolTip, place, chart.mapToGlobal(place));
  QCoreApplication::sendEvent(&chart, &event);
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
  QCOMPARE(chart.y_axis().high, 1.0);
  QVERIFY(chart.y_axis().low < 0.11 && chart.y_axis().low > 0.09);
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
  const auto left = [](const LineChart* chart) { return chart->plot_area().left(); };
  QVERIFY(left(wide) > left(narrow) + 4);
  LineChart::Align({narrow, wide});
  QCOMPARE(left(narrow), left(wide));
  // Whatever comes later.
  const double before = left(wide);
  narrow->Show({{.name = "a", .color = Qt::red, .points = {{0, 987654.3}}}});
  QCOMPARE(left(narrow), left(wide));
  QVERIFY(left(wide) > before);  // "500000" is longer than "5e-08".
}

void ChartTest::TheTitlesLineHasTheValuesAtTheCursor() {
  QWidget parent;
  LineChart* const chart = Chart(&parent, kLines);
  QCOMPARE(chart->LegendTexts(), QStringList({"mean 1.23e+04", "worst 4"}));
  chart->Mark(11);
  QCOMPARE(chart->LegendTexts().front(), "mean 2.5");
  chart->Hover(10);
  QCOMPARE(chart->LegendTexts().front(), "mean 1.5");
  chart->Hover(std::nullopt);
  QCOMPARE(chart->LegendTexts().front(), "mean 2.5");
  chart->SetFormat(&Seconds);
  QCOMPARE(chart->LegendTexts().front(), "mean 2.50 s");
}

void ChartTest::TheMouseMovesTheCursorAndChoosesAPlace() {
  QWidget parent;
  LineChart* const chart = Chart(&parent, kLines);
  chart->resize(600, 300);
  parent.resize(600, 300);
  parent.show();
  QVERIFY(QTest::qWaitForWindowExposed(&parent));
  const QSignalSpy chosen(chart, &LineChart::Chosen);
  std::optional<double> hovered;
  connect(chart, &LineChart::Hovered, this, [&](std::optional<double> x) { hovered = x; });
  const QPoint at(qRound(chart->XOf(15)), qRound(chart->plot_area().center().y()));
  QTest::mouseMove(chart, at);
  QTRY_VERIFY(hovered && qAbs(*hovered - 15) < 0.1);
  QTest::mouseClick(chart, Qt::LeftButton, {}, at);
  QCOMPARE(chosen.size(), 1);
  QVERIFY(qAbs(chosen.at(0).at(0).toDouble() - 15) < 0.1);
  QTest::mouseClick(chart, Qt::LeftButton, {}, {2, at.y()});  // On the labels.
  QCOMPARE(chosen.size(), 1);
}

void ChartTest::AnEventIsInTheToolTipOfItsPlace() {
  QWidget parent;
  LineChart* const chart = Chart(&parent, kLines);
  chart->resize(600, 300);
  chart->SetEvents({{.x = 15, .text = "step 15: chooses dgc"}});
  QVERIFY(ValuesAt(*chart, 15.01).endsWith("\nstep 15: chooses dgc"));
  QVERIFY(!ValuesAt(*chart, 18).contains("chooses"));
}

void ChartTest::AreasStandOnEachOther() {
  QWidget parent;
  LineChart chart("A step", "step", "s", LineChart::Scale::kLinear, &parent);
  chart.SetStacked(true);
  chart.Show({{.name = "a", .color = Qt::blue, .points = {{0, 2}, {1, 3}}},
              {.name = "b", .color = Qt::red, .points = {{0, 5}, {1, 4}}}});
  QVERIFY(chart.y_axis().high >= 7);
  QCOMPARE(chart.LegendTexts(), QStringList({"a 3", "b 4"}));  // Their own values.
}

void ChartTest::AnOutlierIsCutOffWhereThatIsWanted() {
  QList<QPointF> points;
  for (int i = 0; i < 100; ++i) points.append({static_cast<double>(i), i == 0 ? 100.0 : 1.0});
  const std::vector<ChartLine> lines{{.name = "a", .color = Qt::blue, .points = points}};
  QVERIFY(FitValues(lines, ChartAxis::Scale::kLinear).high >= 100);
  const double high = FitValues(lines, ChartAxis::Scale::kLinear, true).high;
  QVERIFY2(high > 1 && high < 2, qPrintable(QString::number(high)));
}

void ChartTest::TicksAreRoundAndFew_data() {
  QTest::addColumn<double>("low");
  QTest::addColumn<double>("high");
  QTest::addColumn<bool>("logarithmic");
  QTest::addColumn<int>("most");
  QTest::addColumn<QList<double>>("ticks");
  QTest::newRow("linear") << 0.0 << 7.0 << false << 4 << QList<double>{0, 2, 4, 6};
  QTest::newRow("small") << 0.0 << 0.1 << false << 2 << QList<double>{0, 0.05, 0.1};
  QTest::newRow("within") << 96.5 << 101.0 << false << 5 << QList<double>{97, 98, 99, 100, 101};
  QTest::newRow("decades") << 1e-3 << 1.0 << true << 4 << QList<double>{1e-3, 1e-2, 1e-1, 1};
  QTest::newRow("every second") << 1e-3 << 10.0 << true << 2 << QList<double>{1e-3, 1e-1, 10};
}

void ChartTest::TicksAreRoundAndFew() {
  QFETCH(double, low);
  QFETCH(double, high);
  QFETCH(bool, logarithmic);
  QFETCH(int, most);
  QFETCH(QList<double>, ticks);
  const ChartAxis axis{.low = low, .high = high, .scale = ChartAxis::Scale(logarithmic)};
  const std::vector<double> made = axis.Ticks(most);
  QCOMPARE(static_cast<qsizetype>(made.size()), ticks.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    QCOMPARE(made[i], ticks[static_cast<qsizetype>(i)]);
    QVERIFY(qAbs(axis.ValueAt(axis.PlaceOf(made[i])) - made[i]) < 1e-9);
  }
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::ChartTest)
#include <chart_test.moc>
