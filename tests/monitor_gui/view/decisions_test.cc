// The dashboard's page about the routes of buckets.
#include <QTest>

#include "monitor_gui/view/pages/decisions_page.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {
namespace {

constexpr qint64 kSteps = 100;

/// Makes a run of one bucket, whose payload is 1,000 bytes in the first half, and then 10.
Run GettingSparser() {
  std::vector<MadeStage> stages;
  for (qint64 step = 0; step < kSteps; ++step) {
    stages.push_back({.start_us = 1000 * step,
                      .end_us = 1000 * step + 400,
                      .bytes_in = step < kSteps / 2 ? 1000u : 10u,
                      .step = step});
  }
  return RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 250) + StagesBlock(0, stages));
}

}  // namespace

class DecisionsTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { PrepareWindows("decisions-test"); }
  void MeansAreThoseOfTheNewestSteps();
};

void DecisionsTest::MeansAreThoseOfTheNewestSteps() {
  const Run run = GettingSparser();
  DecisionsPage page(nullptr);
  const Look look{.run = run};
  page.Refresh(look);
  const Table table = page.Export(look);
  QCOMPARE(table.rows.size(), 1u);
  const auto payload = table.header.indexOf("Payload [B]");
  QVERIFY2(payload >= 0, qPrintable(table.header.join(", ")));
  QCOMPARE(table.rows[0][payload].toDouble(), 10.0);
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::DecisionsTest)
#include <decisions_test.moc>
