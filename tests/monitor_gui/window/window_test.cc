// The window itself, driven as a person would: pages, filter, zoom, pictures.
#include <QAbstractItemView>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QSettings>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "monitor_gui/view/charts/line_chart.h"
#include "monitor_gui/view/pages/ranks_page.h"
#include "monitor_gui/view/style/elided_label.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/style/units.h"
#include "monitor_gui/window/main_window.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class WindowTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void init();
  void UnitsHaveThreeDigits_data();
  void UnitsHaveThreeDigits();
  void DecimatedLinesKeepTheirPeaks();
  void EveryPageShowsSomething_data();
  void EveryPageShowsSomething();
  void TheStripShowsTheRun();
  void HealthIsShownInItsColour();
  void ALongTroubleTakesNoMoreRoomThanThereIs();
  void LongNumbersOfTheStripAreNotCutOff();
  void SamplesAreShownOnceSomebodySaysHowMany();
  void TheThresholdIsDrawnOverSteps();
  void TheFilterLeavesTheLayersOfItsName();
  void LayersSortByTheNumberBehindTheText();
  void ARankSaysWhatItHasNotSubmittedWhileAnythingIsStalled();
  void WhatIsMissingOfARankIsShown();
  void LanesZoomAndMoveByKeysAndWheel();

 private:
  QTemporaryDir folder_;
  QString path_;
};

void WindowTest::initTestCase() {
  PrepareWindows("window-test");
  path_ = folder_.filePath("run.weirlog");
  WriteFile(path_, MadeRun());
}

void WindowTest::init() { QSettings().clear(); }

void WindowTest::UnitsHaveThreeDigits_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("expected");
  QTest::newRow("s") << Seconds(1.2345) << "1.23 s";
  QTest::newRow("ms") << Seconds(0.0456) << "45.6 ms";
  QTest::newRow("us") << Seconds(9.9996e-4) << "1.00 ms";
  QTest::newRow("zero") << Seconds(0) << "0 s";
  QTest::newRow("bytes") << Bytes(999) << "999 B";
  QTest::newRow("kB") << Bytes(1000) << "1.00 kB";
  QTest::newRow("rate") << BytesPerSecond(12.345e6) << "12.3 MB/s";
  QTest::newRow("percent") << Percent(0.001) << "0.100 %";
  QTest::newRow("times") << Times(623.4) << QString::fromUtf8("623×");
}

void WindowTest::UnitsHaveThreeDigits() {
  QFETCH(QString, text);
  QFETCH(QString, expected);
  QCOMPARE(text, expected);
}

void WindowTest::DecimatedLinesKeepTheirPeaks() {
  QList<QPointF> points;
  for (int i = 0; i < 100'000; ++i)
    points.append({static_cast<double>(i), i == 77'777 ? 9.0 : 1.0});
  const QList<QPointF> kept = Decimated(points, 1000);
  QVERIFY(kept.size() <= 1000);
  QVERIFY(kept.contains(QPointF(77'777, 9.0)));
  QVERIFY(std::is_sorted(kept.begin(), kept.end(),
                         [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); }));
  QCOMPARE(Decimated(points.first(1000), 1000).size(), 1000);
}

void WindowTest::EveryPageShowsSomething_data() {
  QTest::addColumn<QString>("page");
  for (const QString& page : MainWindow::PageNames()) QTest::newRow(qPrintable(page)) << page;
}

void WindowTest::EveryPageShowsSomething() {
  QFETCH(QString, page);
  MainWindow window(path_, {});
  QVERIFY(window.ShowPage(page));
  ShowLoaded(window);
  auto* const dock = window.findChild<QDockWidget*>(page);
  QTRY_VERIFY(dock->widget()->isVisible());
  window.Refresh();
  QCoreApplication::processEvents();
  QTRY_VERIFY(Colors(*dock->widget()) > 8);
  for (auto* view : dock->findChildren<QTableView*>()) {
    if (!view->isVisible()) continue;  // Tables of plans, which this run has none of.
    QTRY_VERIFY(view->model()->rowCount() > 0);
    for (int column = 0; column < view->model()->columnCount(); ++column) {
      if (view->isColumnHidden(column)) continue;  // Which of two runs.
      QVERIFY(!view->model()->headerData(column, Qt::Horizontal).toString().isEmpty());
      QVERIFY(!view->model()->index(0, column).data().toString().isEmpty());
    }
  }
}

void WindowTest::TheStripShowsTheRun() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  QStringList values;
  for (const Tile* tile : window.findChildren<Tile*>()) values += tile->value();
  QVERIFY2(values.contains("39"), qPrintable(values.join("|")));
  QVERIFY2(values.contains("100 ms"), qPrintable(values.join("|")));
  QVERIFY2(values.contains("20.0 %"), qPrintable(values.join("|")));
  QVERIFY2(values.contains(QString::fromUtf8("100×")), qPrintable(values.join("|")));
}

void WindowTest::HealthIsShownInItsColour() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  const QImage image = TileOf(window, "Health").grab().toImage();
  const QRgb good = Theme::Of(window.palette()).good.rgb();
  bool found = false;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) found = found || image.pixel(x, y) == good;
  QVERIFY(found);
}

void WindowTest::ALongTroubleTakesNoMoreRoomThanThereIs() {
  Strip strip;
  Summary summary{.step = 7};
  strip.Show(summary);
  const int least = strip.minimumSizeHint().width();
  summary.troubles = {QString("rank 2 is lost, ").repeated(100)};
  strip.Show(summary);
  QCOMPARE(strip.minimumSizeHint().width(), least);
  strip.resize(1200, strip.height());
  strip.grab();  // Draws it.
  auto* const text = strip.findChild<ElidedLabel*>();
  QCOMPARE(text->toolTip(), summary.troubles[0]);
  strip.Show({.step = 8});
  strip.grab();
  QCOMPARE(text->toolTip(), QString());
}

void WindowTest::LongNumbersOfTheStripAreNotCutOff() {
  Strip strip;
  strip.Show(Summary{.step = 1'000'000'000, .sent_per_second = 898'000});
  strip.resize(strip.minimumSizeHint());
  strip.grab();  // Lays it out.
  for (const QLabel* label : strip.findChildren<QLabel*>())
    QVERIFY2(label->width() >= label->fontMetrics().horizontalAdvance(label->text()) ||
                 qobject_cast<const ElidedLabel*>(label) != nullptr,
             qPrintable(label->text()));
}

void WindowTest::SamplesAreShownOnceSomebodySaysHowMany() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  const Tile& samples = TileOf(window, "Samples");
  QCOMPARE(samples.value(), QString("–"));
  QCOMPARE(samples.remark(), "not told");
  window.SetSamplesPerStep(256);  // Steps take 100 ms.
  QCOMPARE(samples.value(), "2.56 k/s");
}

void WindowTest::TheThresholdIsDrawnOverSteps() {
  MainWindow window(path_, {});
  window.ShowPage("sparsity");
  ShowLoaded(window);
  const QList<LineChart*> charts =
      window.findChild<QDockWidget*>("sparsity")->findChildren<LineChart*>();
  const auto chart = std::ranges::find_if(
      charts, [](const LineChart* c) { return c->title().startsWith("Threshold"); });
  QVERIFY(chart != charts.end());
  QCOMPARE((*chart)->lines().size(), 1u);
  QCOMPARE((*chart)->lines()[0].points.size(), 40);
  QCOMPARE((*chart)->lines()[0].points[7], QPointF(7, 0.5));
}

void WindowTest::TheFilterLeavesTheLayersOfItsName() {
  MainWindow window(path_, {});
  window.ShowPage("layers");
  ShowLoaded(window);
  auto* const dock = window.findChild<QDockWidget*>("layers");
  auto* const table = dock->findChild<QTableView*>();
  QTRY_COMPARE(table->model()->rowCount(), 3);
  QTest::keyClicks(dock->findChild<QLineEdit*>(), "CONV");
  QCOMPARE(table->model()->rowCount(), 2);
  QTest::keyClicks(dock->findChild<QLineEdit*>(), "2");
  QCOMPARE(table->model()->rowCount(), 1);
  QCOMPARE(table->model()->index(0, 0).data().toString(), "conv2.weight");
}

void WindowTest::LayersSortByTheNumberBehindTheText() {
  MainWindow window(path_, {});
  window.ShowPage("layers");
  ShowLoaded(window);
  auto* const table = window.findChild<QDockWidget*>("layers")->findChild<QTableView*>();
  QTRY_COMPARE(table->model()->rowCount(), 3);
  constexpr int kPayload = 5;  // 900 B, 1.80 kB, 2.70 kB: as texts they sort in another order.
  table->sortByColumn(kPayload, Qt::DescendingOrder);
  QCOMPARE(table->model()->index(0, 0).data().toString(), "fc.weight");
  QCOMPARE(table->model()->index(2, kPayload).data().toString(), "900 B");
}

void WindowTest::ARankSaysWhatItHasNotSubmittedWhileAnythingIsStalled() {
  const QString path = folder_.filePath("stalled.weirlog");
  WriteFile(path, MadeRun() + StallsBlock(9000, {{.name = "loss", .missing = {1}},
                                                 {.name = "norm", .missing = {1}},
                                                 {.name = "more", .missing = {1}}}));
  MainWindow window(path, {});
  window.ShowPage("ranks");
  ShowLoaded(window);
  auto* const table = window.findChild<QDockWidget*>("ranks")->findChild<QTableView*>();
  constexpr int kNotSubmitted = 13;
  QCOMPARE(table->model()->headerData(kNotSubmitted, Qt::Horizontal).toString(), "Not submitted");
  QTRY_COMPARE(table->model()->index(1, kNotSubmitted).data().toString(),
               "'loss' (0.0 s), 'norm' (0.0 s) and 1 more");
  QVERIFY(!table->isColumnHidden(kNotSubmitted));
  QCOMPARE(table->horizontalHeader()->sectionResizeMode(kNotSubmitted), QHeaderView::Stretch);
  QVERIFY(
      table->model()->index(1, kNotSubmitted).data(Qt::ToolTipRole).toString().contains("norm"));
  QCOMPARE(table->model()->index(0, kNotSubmitted).data().toString(), QString());
  auto* const lines = window.findChild<RanksPage*>()->findChild<QLabel*>();
  QVERIFY(lines->isVisible());
  QCOMPARE(lines->text().split('\n').first(), "'loss' has waited 0.0 s for rank 1");
  window.findChild<QSlider*>()->setValue(10);  // Nothing was stalled yet.
  QTRY_VERIFY((window.Refresh(), table->isColumnHidden(kNotSubmitted)));
  QVERIFY(!lines->isVisible());
}

void WindowTest::WhatIsMissingOfARankIsShown() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("run.weirlog");
  constexpr int kMissing = 12;
  const auto shown = [&](const QByteArray& more, int rank) {
    WriteFile(path, MadeRun() + more);
    MainWindow window(path, {});
    window.ShowPage("ranks");
    ShowLoaded(window);
    auto* const table = window.findChild<QDockWidget*>("ranks")->findChild<QTableView*>();
    if (table->model()->headerData(kMissing, Qt::Horizontal) != "Missing") return QString("?");
    return table->isColumnHidden(kMissing)
               ? QString("hidden")
               : table->model()->index(rank, kMissing).data().toString();
  };
  QCOMPARE(shown({}, 0), "hidden");
  QByteArray lost = MadeBlock("stages", 0).Note("lost", 120).Bytes();
  QCOMPARE(shown(lost, 0), "120 records");
  lost += MadeBlock("gap", 0).Note("blocks", 3).Text("").Bytes();
  QCOMPARE(shown(lost, 0), "120 records, 3 blocks");
  QCOMPARE(shown(lost, 1), "");
}

void WindowTest::LanesZoomAndMoveByKeysAndWheel() {
  MainWindow window(path_, {});
  window.ShowPage("lanes");
  ShowLoaded(window);
  auto* const lanes = window.findChild<LanesPage*>();
  auto* const list = lanes->findChild<QAbstractItemView*>();
  const Replay& replay = window.replay().replay();
  QVERIFY(replay.following());
  const std::int64_t newest = lanes->time_window().end_ns;
  const std::int64_t length = lanes->time_window().length_ns();
  QTest::keyClick(list, Qt::Key_Plus);
  QVERIFY(lanes->time_window().length_ns() < length);
  QCOMPARE(lanes->time_window().end_ns, newest);  // Which is followed.
  QTest::keyClick(list, Qt::Key_Left, Qt::ShiftModifier);
  QVERIFY(lanes->time_window().end_ns < newest);
  // All pages go to the step that had ended by then.
  QVERIFY(!replay.following());
  const Moment at =
      window.session().run().Read([&](const Run& run) { return MomentOf(run, replay.step()); });
  QVERIFY(at.end_ns <= lanes->time_window().end_ns);
  QTest::keyClick(list, Qt::Key_End);
  QVERIFY(replay.following());
  QCOMPARE(lanes->time_window().end_ns, newest);
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::WindowTest)
#include <window_test.moc>
