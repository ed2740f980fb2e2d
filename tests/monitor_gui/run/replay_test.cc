// The viewed step of a run, and the run as it was then.
#include "monitor_gui/run/replay.h"

#include <QTest>

#include "monitor_gui/run/summary.h"
#include "monitor_gui/view/tables/layers_model.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Steps from 0 on, each of which begins at 100 ms times its number.
std::vector<MadeStep> Steps(qint64 count) {
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < count; ++step) steps.push_back({.step = step});
  return steps;
}

Replay ReplayOf(const Run& run) {
  Replay replay;
  replay.SetSteps(StepsOf(run));
  return replay;
}

}  // namespace

class ReplayTest : public QObject {
  Q_OBJECT

 private slots:
  void AMomentIsTheEndOfAStepOnItsLastRank();
  void StepsAreWalkedThoughNumbersAreMissing();
  void TheNewestIsFollowedUntilAStepIsChosen();
  void AHeldStepStaysWhenOthersCome();
  void PlayingGoesAsFastAsTheRunDid();
  void PlayingAtTheEndBeginsAnew();
  void AChosenStepThatIsGoneIsLeft();
  void TheSummaryIsThatOfTheStepsUntilTheMoment();
  void LayersAreThoseOfTheMoment();
};

void ReplayTest::AMomentIsTheEndOfAStepOnItsLastRank() {
  const Run run =
      RunOf(RunBlock(0, 2) + StepsBlock(0, {{.step = 3, .duration_ms = 40}, {.step = 4}}) +
            RunBlock(1, 2) + StepsBlock(1, {{.step = 3, .duration_ms = 70}}));
  const Moment moment = MomentOf(run, 3);
  QCOMPARE(moment.step, 3);
  QCOMPARE(moment.end_ns, 370 * kMs);
  QCOMPARE(MomentOf(run, 900).step, 4);
  QCOMPARE(MomentOf(run, 2).step, -1);
  QVERIFY(MomentOf(run, Moment::kNewest).is_newest());
}

void ReplayTest::StepsAreWalkedThoughNumbersAreMissing() {
  const Run run =
      RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 2}, {.step = 7}, {.step = 8}, {.step = 20}}));
  QCOMPARE(StepFrom(run, 2, 1), 7);
  QCOMPARE(StepFrom(run, 20, -1), 8);
  QCOMPARE(StepFrom(run, 10, 1), 20);
  QCOMPARE(StepFrom(run, 20, 1), 20);
  QCOMPARE(StepFrom(run, 2, -1), 2);
  QCOMPARE(StepAt(run, 801 * kMs), 7);  // Step 8 began then, and ended later.
  QCOMPARE(StepAt(run, 0), 2);
}

void ReplayTest::TheNewestIsFollowedUntilAStepIsChosen() {
  Replay replay;
  QCOMPARE(replay.step(), -1);
  replay.SetSteps({.first = 10, .last = 20});
  QCOMPARE(replay.step(), 20);
  replay.GoTo(15);
  replay.SetSteps({.first = 10, .last = 30});
  QCOMPARE(replay.step(), 15);
  QVERIFY(!replay.following());
  replay.GoTo(30);
  replay.SetSteps({.first = 10, .last = 40});
  QCOMPARE(replay.step(), 40);
  replay.GoTo(3);
  QCOMPARE(replay.step(), 10);
}

void ReplayTest::AHeldStepStaysWhenOthersCome() {
  Replay replay;
  replay.SetSteps({.first = 0, .last = 20});
  replay.Hold();
  QVERIFY(!replay.following());
  replay.SetSteps({.first = 0, .last = 21});
  QCOMPARE(replay.step(), 20);
}

void ReplayTest::PlayingGoesAsFastAsTheRunDid() {
  const Run run = RunOf(RunBlock(0, 1) + StepsBlock(0, Steps(10)));
  Replay replay = ReplayOf(run);
  replay.GoTo(4);
  replay.Play(run, 7000 * kMs);
  QVERIFY(replay.playing());
  replay.Advance(run, 7099 * kMs);
  QCOMPARE(replay.step(), 4);
  replay.Advance(run, 7300 * kMs);
  QCOMPARE(replay.step(), 7);
  replay.Advance(run, 7500 * kMs);
  QCOMPARE(replay.step(), 9);
  QVERIFY(!replay.playing());
  QVERIFY(replay.following());
}

void ReplayTest::PlayingAtTheEndBeginsAnew() {
  const Run run = RunOf(RunBlock(0, 1) + StepsBlock(0, Steps(10)));
  Replay replay = ReplayOf(run);
  replay.Play(run, 0);
  QVERIFY(replay.playing());
  QCOMPARE(replay.step(), 0);
  replay.GoTo(5);
  QVERIFY(!replay.playing());
}

void ReplayTest::AChosenStepThatIsGoneIsLeft() {
  Replay replay;
  replay.SetSteps({.first = 0, .last = 900});
  replay.GoTo(800);
  replay.SetSteps({.first = 0, .last = 3});  // Another job began at the same address.
  QVERIFY(replay.following());
  QCOMPARE(replay.step(), 3);
}

void ReplayTest::TheSummaryIsThatOfTheStepsUntilTheMoment() {
  std::vector<MadeStep> steps = Steps(200);
  for (MadeStep& step : steps) step.exposed_communication_ms = step.step < 100 ? 60 : 20;
  const Run run = RunOf(RunBlock(0, 1) + StepsBlock(0, steps) +
                        MadeBlock("state", 0)
                            .Column<qint64>("time_ns", "<i8", {0, 1000 * kMs, 15'000 * kMs})
                            .Column<quint64>("sent_bytes", "<u8", {0, 500, 500})
                            .Column<qint64>("stalled_tensors", "<i8", {0, 0, 7})
                            .Bytes());
  const Summary then = Summarise(run, 0, MomentOf(run, 99));
  QCOMPARE(then.step, 99);
  QCOMPARE(then.exposed_communication, 0.6);
  QCOMPARE(then.sent_per_second, std::optional(500.0));
  QCOMPARE(Summarise(run, 0, MomentOf(run, 2)).sent_per_second, std::nullopt);
  QCOMPARE(then.health, Summary::Health::kGood);
  const Summary now = Summarise(run, 0);
  QCOMPARE(now.exposed_communication, 0.2);
  QCOMPARE(now.health, Summary::Health::kWarning);
}

void ReplayTest::LayersAreThoseOfTheMoment() {
  const Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100) +
                        GradientsBlock(0, {{.step = 4, .payload_bytes = 100},
                                           {.step = 5, .payload_bytes = 200},
                                           {.step = 6, .payload_bytes = 300},
                                           {.step = 7, .payload_bytes = 400}}));
  LayersModel model;
  const auto payload = [&] { return model.index(0, LayersModel::kPayload).data().toString(); };
  model.Refresh(run.layers(), {.step = 5, .end_ns = 0});
  QCOMPARE(payload(), "200 B");
  model.Refresh(run.layers(), {.step = 3, .end_ns = 0});
  QCOMPARE(payload(), "–");
  model.Refresh(run.layers());
  QCOMPARE(payload(), "300 B");  // Some ranks may not have reported the very newest step.
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::ReplayTest)
#include <replay_test.moc>
