// The dashboard's page about how buckets travel, and why.
#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include "monitor_gui/view/pages/decisions_page.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {
namespace {

constexpr qint64 kSteps = 100;

/// Makes a run of one bucket, whose payload is 1,000 bytes in the first half, and then 10.
QByteArray GettingSparser() {
  std::vector<MadeStage> stages;
  for (qint64 step = 0; step < kSteps; ++step) {
    stages.push_back({.start_us = 1000 * step,
                      .end_us = 1000 * step + 400,
                      .bytes_in = step < kSteps / 2 ? 1000u : 10u,
                      .step = step});
  }
  return RunBlock(0, 1) + NamesBlock(0, {"model/conv"}, 250) + StagesBlock(0, stages);
}

/// dgc at first, tries dense in step 40, and chooses it in step 60.
QByteArray Planned() {
  return PlanBlock(0, {.settled = false, .why = "tries dgc"}) +
         PlanBlock(0, {.from_step = 40,
                       .settled = false,
                       .what = "dense",
                       .why = "tries dense",
                       .forms = {"dense", "dense"}}) +
         PlanBlock(0, {.from_step = 60,
                       .what = "dense",
                       .why = "dense: the network carries 8 Gb/s",
                       .forms = {"dense", "dense"},
                       .considered = {Considered("dense", 0.1, true), Considered("dgc", 0.2)}});
}

QTableView& View(const DecisionsPage& page, const QString& name) {
  return *page.findChild<QTableView*>(name);
}

QStringList Texts(const QTableView& view, const QString& column) {
  QStringList texts;
  for (int c = 0; c < view.model()->columnCount(); ++c) {
    if (view.model()->headerData(c, Qt::Horizontal).toString() != column) continue;
    if (view.isColumnHidden(c)) return {"hidden"};
    for (int row = 0; row < view.model()->rowCount(); ++row)
      texts += view.model()->index(row, c).data().toString();
  }
  return texts;
}

}  // namespace

class DecisionsTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { PrepareWindows("decisions-test"); }
  void MeansAreThoseOfTheNewestSteps();
  void MeansAreThoseOfTheFormThatHolds();
  void AFixedCompressionIsSaidInALine();
  void ThePlanOfTheStepIsShownWithItsReason();
  void AClickOnAChangeChoosesItsStep();

 private:
  /// Refreshes the page with the run at a step.
  static void Show(DecisionsPage& page, const Run& run, std::int64_t step = Moment::kNewest) {
    const std::int64_t end_ns = step == Moment::kNewest ? step : (step + 1) * 1'000'000;
    page.Refresh({.run = run, .at = {.step = step, .end_ns = end_ns}});
  }
};

void DecisionsTest::MeansAreThoseOfTheNewestSteps() {
  const Run run = RunOf(GettingSparser());
  DecisionsPage page(nullptr);
  Show(page, run);
  const Table table = page.Export({.run = run});
  QCOMPARE(table.rows.size(), 1u);
  const auto payload = table.header.indexOf("Payload [B]");
  QVERIFY2(payload >= 0, qPrintable(table.header.join(", ")));
  QCOMPARE(table.rows[0][payload].toDouble(), 10.0);
}

void DecisionsTest::MeansAreThoseOfTheFormThatHolds() {
  const Run run = RunOf(GettingSparser() + PlanBlock(0, {.from_step = 45}));
  DecisionsPage page(nullptr);
  Show(page, run, 54);  // 5 steps of 1,000 bytes, 5 of 10.
  QCOMPARE(Texts(View(page, "buckets"), "Payload"), QStringList("505 B"));
}

void DecisionsTest::AFixedCompressionIsSaidInALine() {
  const Run run = RunOf(GettingSparser() +
                        PlanBlock(0, {.by = "options", .why = "dgc, as told (auto would choose)"}));
  DecisionsPage page(nullptr);
  Show(page, run);
  QCOMPARE(page.findChild<QLabel*>("sentences")->text(),
           "Compression is fixed: dgc. compression=auto would choose.");
  QCOMPARE(Texts(View(page, "buckets"), "Why"), QStringList("options"));
  page.show();
  QVERIFY(QTest::qWaitForWindowExposed(&page));
  QVERIFY(View(page, "buckets").isVisible());
  QVERIFY(!View(page, "considered").isVisible());
  QVERIFY(!View(page, "changes").isVisible());
}

void DecisionsTest::ThePlanOfTheStepIsShownWithItsReason() {
  const Run run = RunOf(GettingSparser() + Planned());
  DecisionsPage page(nullptr);
  const auto sentence = [&] { return page.findChild<QLabel*>("sentences")->text(); };
  Show(page, run, 45);
  QVERIFY2(sentence().startsWith("Trying dense since step 40"), qPrintable(sentence()));
  QCOMPARE(Texts(View(page, "buckets"), "Travels as"), QStringList("dense"));
  QCOMPARE(Texts(View(page, "buckets"), "Why"), QStringList("being tried"));
  QCOMPARE(Texts(View(page, "considered"), "Plan"), QStringList());
  QCOMPARE(Texts(View(page, "changes"), "Holds"), QStringList({"", "now", ""}));
  Show(page, run);
  QCOMPARE(sentence(), "dense since step 60: the network carries 8 Gb/s");
  QCOMPARE(Texts(View(page, "buckets"), "Why"), QStringList("fastest when tried"));
  QCOMPARE(Texts(View(page, "buckets"), "Work dense"), QStringList("1.00 ms"));
  QCOMPARE(Texts(View(page, "buckets"), "Work compressed"), QStringList("2.00 ms"));
  QCOMPARE(Texts(View(page, "buckets"), "Work fp16"), QStringList("hidden"));
  QCOMPARE(Texts(View(page, "considered"), "Plan"), QStringList({"dense", "dgc"}));
  QCOMPARE(Texts(View(page, "considered"), "Measured"), QStringList({"100 ms", "200 ms"}));
  QCOMPARE(Texts(View(page, "considered"), "Outcome"), QStringList({"chosen", "100 % slower"}));
  QCOMPARE(Texts(View(page, "changes"), "What changed"),
           QStringList({"tries dgc", "tries dense", "chooses dense"}));
}

void DecisionsTest::AClickOnAChangeChoosesItsStep() {
  const Run run = RunOf(GettingSparser() + Planned());
  DecisionsPage page(nullptr);
  page.resize(1000, 700);
  Show(page, run);
  page.show();
  QVERIFY(QTest::qWaitForWindowExposed(&page));
  const QSignalSpy chosen(&page, &Page::StepChosen);
  QTableView& changes = View(page, "changes");
  QTest::mouseClick(changes.viewport(), Qt::LeftButton, {},
                    changes.visualRect(changes.model()->index(1, 3)).center());
  QCOMPARE(chosen.size(), 1);
  QCOMPARE(chosen.at(0).at(0).toLongLong(), 40);
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::DecisionsTest)
#include <decisions_test.moc>
