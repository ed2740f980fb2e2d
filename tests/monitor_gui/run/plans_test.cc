// What is known of plans: what holds when, why, and what has changed.
#include "monitor_gui/run/plans.h"

#include <QTest>

#include "monitor_gui/run/moment.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

/// Tries dense from step 3 on, and chooses dgc in step 6.
QByteArray Search() {
  return RunBlock(0, 2) +
         PlanBlock(0, {.from_step = 0, .settled = false, .what = "dgc", .why = "tries dgc"}) +
         PlanBlock(0, {.from_step = 3,
                       .settled = false,
                       .what = "dense",
                       .why = "tries dense",
                       .forms = {"dense", "dense"}}) +
         PlanBlock(0, {.from_step = 6,
                       .what = "dgc",
                       .why = "dgc: the network carries 8 Mb/s",
                       .considered = {Considered("dgc", 0.1, true), Considered("dense", 0.15),
                                      Considered("fp16", 0)},
                       .network = 1e6});
}

Moment AtStep(std::int64_t step) { return {.step = step}; }

}  // namespace

class PlansTest : public QObject {
  Q_OBJECT

 private slots:
  void ThePlanIsThatOfTheStepThatIsShown();
  void GroupsHaveTheirOwnPlans();
  void ASentenceSaysWhatHoldsAndWhy_data();
  void ASentenceSaysWhatHoldsAndWhy();
  void WhatWasConsideredHasAnOutcome();
  void AReasonStaysWhileTheNextSearchTries();
  void ChangesAreThereByStep();
  void BucketsAreFoundByTheNameOfTheirRecords();
  void AnyJsonIsNoPlanButDoesNoHarm();
};

void PlansTest::ThePlanIsThatOfTheStepThatIsShown() {
  const Run run = RunOf(Search());
  const auto at = [&](std::int64_t step) { return PlansAt(run, AtStep(step)).at(0)->what; };
  QCOMPARE(at(0), "dgc");
  QCOMPARE(at(2), "dgc");
  QCOMPARE(at(3), "dense");
  QCOMPARE(at(5), "dense");
  QVERIFY(PlansAt(run, {}).at(0)->settled);
  QVERIFY(PlansAt(run, AtStep(-1)).empty());
  QCOMPARE(PlansAt(run, {}).at(0)->network_bytes_per_second.value_or(0), 1e6);
}

void PlansTest::GroupsHaveTheirOwnPlans() {
  // Rank 1 plans for a process set of its own.
  const Run run = RunOf(Search() + RunBlock(1, 2) + PlanBlock(1, {.from_step = 1, .what = "fp16"}));
  const auto plans = PlansAt(run, AtStep(4));
  QCOMPARE(plans.size(), 2u);
  QCOMPARE(plans[0]->what, "dense");
  QCOMPARE(plans[1]->what, "fp16");
}

void PlansTest::ASentenceSaysWhatHoldsAndWhy_data() {
  QTest::addColumn<QByteArray>("block");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("chosen") << PlanBlock(0, {.from_step = 6, .why = "dgc: it is fast"})
                          << "dgc since step 6: it is fast";
  QTest::newRow("file") << PlanBlock(
                               0,
                               {.from_step = 4, .by = "file", .why = "as WEIR_PLAN_FILENAME says"})
                        << "dgc since step 4, as WEIR_PLAN_FILENAME says";
  QTest::newRow("no choice") << PlanBlock(
                                    0, {.by = "options", .why = "dgc, as nothing else is possible"})
                             << "dgc since step 0, as nothing else is possible";
  QTest::newRow("options") << PlanBlock(0, {.by = "options",
                                            .why = "dgc, as told (compression=auto would choose)"})
                           << "Compression is fixed: dgc. compression=auto would choose.";
}

void PlansTest::ASentenceSaysWhatHoldsAndWhy() {
  QFETCH(QByteArray, block);
  const Run run = RunOf(RunBlock(0, 1) + block);
  QTEST(PlansAt(run, {}).at(0)->Sentence(), "sentence");
}

void PlansTest::WhatWasConsideredHasAnOutcome() {
  const Run run = RunOf(Search());
  const GroupPlan& plan = *PlansAt(run, {}).at(0);
  QStringList outcomes;
  for (const auto& one : plan.considered) outcomes += plan.OutcomeOf(one);
  QCOMPARE(outcomes,
           QStringList({"chosen", "50 % slower", "not tried: its bytes alone take too long"}));
}

void PlansTest::AReasonStaysWhileTheNextSearchTries() {
  const Run run = RunOf(Search() + PlanBlock(0, {.from_step = 50, .settled = false}));
  QVERIFY(LastSearch(run, *PlansAt(run, AtStep(4)).at(0)) == nullptr);
  const GroupPlan* const now = PlansAt(run, {}).at(0);
  QVERIFY(now->considered.empty());
  QCOMPARE(LastSearch(run, *now)->from_step, 6);
}

void PlansTest::ChangesAreThereByStep() {
  QStringList changes;
  for (const PlanChange& change : PlanChangesOf(RunOf(Search() + PlanBlock(0, {.from_step = 6}))))
    changes += QString("%1 %2%3").arg(change.step).arg(change.what, change.is_form ? " *" : "");
  QCOMPARE(changes,
           QStringList({"0 tries dgc *", "3 tries dense *", "6 chooses dgc *", "6 chooses dgc"}));
}

void PlansTest::BucketsAreFoundByTheNameOfTheirRecords() {
  const Run run = RunOf(Search());
  const GroupPlan& plan = *PlansAt(run, AtStep(4)).at(0);
  const GroupPlan::Bucket* const conv = plan.Find("model/conv");
  QVERIFY(conv != nullptr);
  QCOMPARE(conv->form, "dense");
  QCOMPARE(conv->WorkIn("dgc").value_or(0), 0.002);
  QVERIFY(!conv->WorkIn("fp16").has_value());
  QVERIFY(!conv->WorkIn("powersgd").has_value());
  QCOMPARE(conv->Why(plan), "being tried");
  QVERIFY(plan.Find("other/conv") == nullptr);
}

void PlansTest::AnyJsonIsNoPlanButDoesNoHarm() {
  const Run run = RunOf(RunBlock(0, 1) + MadeBlock("plans", 0).Text("[1, 2]").Bytes() +
                        MadeBlock("plans", 0).Text("no").Bytes());
  for (const GroupPlan* plan : PlansAt(run, {})) QVERIFY(plan->buckets.empty());
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::PlansTest)
#include <plans_test.moc>
