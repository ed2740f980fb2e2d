// The key figures and sentences about a run.
#include "monitor_gui/run/summary.h"

#include <QJsonDocument>
#include <QTest>

#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {

class SummaryTest : public QObject {
  Q_OBJECT

 private slots:
  void TheSummaryIsThatOfTheNewestSteps();
  void SamplesASecondAreThoseOfAllRanks();
  void ASlowRankIsNamed();
  void ARankThatHasJoinedSetsNoPace();
  void AJobThatTakesNoStepAnyMoreIsATrouble();
  void RanksOfWhichThereIsNothingAreATrouble();
  void CompressionThatTakesLongIsATrouble();
  void TensorsThatWaitForOthersAreATrouble();
  void AStalledTensorIsNamedWithTheRanksThatMissIt();
  void OfManyStalledTensorsAFewAreNamed();
  void AStallIsThereFromItsBeginningToItsEnd();
  void RanksThatAreLostOrSilentAreTroubles();
  void AJobThatEndedWellIsNotLost();
  void ARecordingWithoutAnEndIsNotSaidToBeWell();
  void WhyAJobFailedFirstIsSaidFromThenOn();
  void ASummaryOfOldStepsIsThatOfEachOfThem();
};

void SummaryTest::TheSummaryIsThatOfTheNewestSteps() {
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < 200; ++step) {
    const bool newest = step >= 200 - static_cast<qint64>(Summary::kSteps);
    steps.push_back({.step = step,
                     .exposed_communication_ms = newest ? 25 : 90,
                     .exposed_compression_ms = newest ? 5 : 0,
                     .payload_bytes = 10,
                     .dense_bytes = newest ? 1000u : 10u});
  }
  const Summary summary = Summarise(RunOf(RunBlock(0, 1) + StepsBlock(0, steps)), 0);
  QCOMPARE(summary.step, 199);
  QCOMPARE(summary.ranks, 1);
  QCOMPARE(summary.step_seconds, 0.1);
  QCOMPARE(summary.exposed_communication, 0.25);
  QCOMPARE(summary.exposed_compression, 0.05);
  QCOMPARE(summary.wire_ratio, 100.0);
  QVERIFY(!summary.slowest_rank.has_value());
  QCOMPARE(summary.health, Summary::Health::kGood);
}

void SummaryTest::SamplesASecondAreThoseOfAllRanks() {
  const auto of = [](int rank, const QString& batch) {
    const QJsonObject settings{{"WEIR_BATCH_SIZE", QJsonObject{{"value", batch}}}};
    const QJsonObject run{{"rank", rank}, {"size", 3}, {"settings", settings}};
    return MadeBlock("run", rank).Text(QJsonDocument(run).toJson()).Bytes() +
           StepsBlock(rank, {{.step = 0}, {.step = 1}});  // 100 ms each.
  };
  const auto per_second = [](const QByteArray& bytes) {
    return Summarise(RunOf(bytes), 0).samples_per_second;
  };
  QCOMPARE(per_second(of(0, "32") + of(1, "16") + of(2, "16")).value_or(0), 640.0);
  // Nothing else is known of a rank that cannot be followed.
  QCOMPARE(per_second(of(0, "32") + of(1, "16")).value_or(0), 720.0);
  QVERIFY(!per_second(of(0, "32") + of(1, "0") + of(2, "32")));
  QVERIFY(!per_second(RunBlock(0, 1) + StepsBlock(0, {{.step = 0}})));
}

void SummaryTest::ASlowRankIsNamed() {
  QByteArray bytes;
  for (int rank = 0; rank < 4; ++rank) {
    bytes += RunBlock(rank, 4);
    // All take as long; rank 2 waits for nobody, the others for it.
    bytes += StepsBlock(rank, {{.step = 0, .exposed_communication_ms = rank == 2 ? 0 : 50}});
  }
  const Summary summary = Summarise(RunOf(bytes), 0);
  QCOMPARE(summary.exposed_communication, 0.0);  // The others only wait for rank 2.
  QCOMPARE(summary.slowest_rank.value_or(-1), 2);
  QCOMPARE(summary.slowest_excess, 1.0);
  QCOMPARE(summary.health, Summary::Health::kWarning);
  QVERIFY(summary.troubles.join("").contains("rank 2"));
}

void SummaryTest::ARankThatHasJoinedSetsNoPace() {
  // It was slow, and has taken no step for long.
  QByteArray bytes =
      RunBlock(0, 2) + RunBlock(1, 2) +
      StepsBlock(1, {{.step = 0, .duration_ms = 900}, {.step = 10, .duration_ms = 900}});
  for (qint64 step = 0; step < 100; ++step) bytes += StepsBlock(0, {{.step = step}});
  const Summary summary = Summarise(RunOf(bytes), 0);
  QCOMPARE(summary.step_seconds, 0.1);
  QVERIFY(!summary.slowest_rank.has_value());
}

void SummaryTest::AJobThatTakesNoStepAnyMoreIsATrouble() {
  const auto seen_after = [](qint64 seconds) {
    // Its state is told each second, its steps take 100 ms.
    const QByteArray state =
        MadeBlock("state", 0)
            .Column<qint64>("time_ns", "<i8", {200'000'000 + seconds * 1'000'000'000})
            .Bytes();
    return Summarise(RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 0}, {.step = 1}}) + state), 0);
  };
  QCOMPARE(seen_after(9).health, Summary::Health::kGood);
  const Summary stuck = seen_after(24);
  QCOMPARE(stuck.health, Summary::Health::kWarning);
  QVERIFY(stuck.troubles.contains("no step has ended for 24 s"));
}

void SummaryTest::RanksOfWhichThereIsNothingAreATrouble() {
  const auto one = [](int rank) { return RunBlock(rank, 3) + StepsBlock(rank, {{.step = 0}}); };
  Run part = RunOf(one(0) + one(2));
  for (const int rank : {0, 2}) part.SetLink(rank, {.state = RankLink::State::kRecorded});
  const Summary summary = Summarise(part, 0);
  QCOMPARE(summary.health, Summary::Health::kWarning);
  QVERIFY(summary.troubles.contains("rank 1 is missing here"));
  part.SetLink(1, {.state = RankLink::State::kConnecting});  // It is followed, and will say more.
  QVERIFY(Summarise(part, 0).troubles.isEmpty());
}

void SummaryTest::CompressionThatTakesLongIsATrouble() {
  const auto of = [](qint64 compression_ms) {
    return Summarise(RunOf(RunBlock(0, 1) +
                           StepsBlock(0, {{.step = 0, .exposed_compression_ms = compression_ms}})),
                     0);
  };
  QCOMPARE(of(9).health, Summary::Health::kGood);  // A step takes 100 ms.
  QCOMPARE(of(12).health, Summary::Health::kWarning);
  QCOMPARE(of(12).troubles, QStringList("steps wait for compression for 12 % of their time"));
}

void SummaryTest::TensorsThatWaitForOthersAreATrouble() {
  const auto of = [](qint64 tensors) {
    return Summarise(RunOf(RunBlock(3, 4) + MadeBlock("state", 3)
                                                .Column<qint64>("time_ns", "<i8", {1})
                                                .Column<qint64>("stalled_tensors", "<i8", {tensors})
                                                .Bytes()),
                     0);
  };
  QCOMPARE(of(0).troubles, QStringList());
  QCOMPARE(of(1).troubles,
           QStringList("rank 3 waits with 1 tensor that others have not submitted"));
  QCOMPARE(of(2).troubles,
           QStringList("rank 3 waits with 2 tensors that others have not submitted"));
}

void SummaryTest::AStalledTensorIsNamedWithTheRanksThatMissIt() {
  const QByteArray waits = MadeBlock("state", 0)
                               .Column<qint64>("time_ns", "<i8", {5'000'000'000})
                               .Column<qint64>("stalled_tensors", "<i8", {2})
                               .Bytes();
  const Summary summary =
      Summarise(RunOf(RunBlock(0, 8) +
                      StallsBlock(3000, {{.name = "loss", .waited_seconds = 62, .missing = {1}},
                                         {.name = "norm",
                                          .waited_seconds = 1.5,
                                          .missing = {1, 2, 3, 5, 6, 7},
                                          .process_set = 4}}) +
                      waits),
                0);
  // Two seconds later.
  QCOMPARE(
      summary.troubles,
      QStringList({"'loss' has waited 64 s for rank 1",
                   "'norm' of process set 4 has waited 3.5 s for ranks 1, 2, 3, 5 and 2 more"}));
  QCOMPARE(summary.health, Summary::Health::kWarning);
}

void SummaryTest::OfManyStalledTensorsAFewAreNamed() {
  std::vector<MadeStall> stalls(16, {.name = "w", .waited_seconds = 60, .missing = {1}});
  const Summary summary = Summarise(RunOf(RunBlock(0, 2) + StallsBlock(0, stalls, 4)), 0);
  QCOMPARE(summary.troubles.size(), 4);
  QCOMPARE(summary.troubles[2], "'w' has waited 60 s for rank 1");
  QCOMPARE(summary.troubles[3], "so have 17 more tensors");
}

void SummaryTest::AStallIsThereFromItsBeginningToItsEnd() {
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < 100; ++step) steps.push_back({.step = step});
  const Run run = RunOf(RunBlock(0, 2) + StepsBlock(0, steps) +
                        StallsBlock(5000, {{.name = "loss", .waited_seconds = 1, .missing = {1}}}) +
                        StallsBlock(7000, {}));
  const auto troubles = [&](qint64 step) {
    return Summarise(run, 0, MomentOf(run, step)).troubles;
  };
  QCOMPARE(troubles(48), QStringList());  // It ends at 4.9 s.
  QCOMPARE(troubles(59), QStringList("'loss' has waited 2.0 s for rank 1"));
  QCOMPARE(troubles(70), QStringList());
  QCOMPARE(Summarise(run, 0).troubles, QStringList());
  // Behind the last step, which is the one that a recording shows in the end.
  const Run stuck = RunOf(RunBlock(0, 2) + StepsBlock(0, {{.step = 0}, {.step = 1}}) +
                          StallsBlock(9000, {{.name = "loss", .missing = {1}}}));
  QCOMPARE(Summarise(stuck, 0, MomentOf(stuck, 0)).troubles, QStringList());
  QCOMPARE(Summarise(stuck, 0, MomentOf(stuck, 1)).troubles,
           QStringList("'loss' has waited 0.0 s for rank 1"));
}

void SummaryTest::RanksThatAreLostOrSilentAreTroubles() {
  Run run = RunOf(RunBlock(0, 2) + StepsBlock(0, {{.step = 0}}));
  run.SetLink(0, {.state = RankLink::State::kLive, .heard_ms = 100'000});
  QCOMPARE(Summarise(run, 101'000).health, Summary::Health::kGood);
  QCOMPARE(Summarise(run, 107'000).health, Summary::Health::kWarning);
  run.SetLink(1, {.state = RankLink::State::kLost, .detail = "connection refused"});
  const Summary lost = Summarise(run, 101'000);
  QCOMPARE(lost.health, Summary::Health::kBad);
  QVERIFY(lost.troubles.join("").contains("rank 1 is lost: connection refused"));
}

void SummaryTest::AJobThatEndedWellIsNotLost() {
  const QByteArray steps = RunBlock(0, 2) + StepsBlock(0, {{.step = 0}, {.step = 1}}) +
                           RunBlock(1, 2) + StepsBlock(1, {{.step = 0}, {.step = 1}});
  Run run = RunOf(steps + EndBlock(0, 90'000));  // Long after the last step.
  run.SetLink(0, {.state = RankLink::State::kLost, .detail = "connection refused"});
  run.SetLink(1, {.state = RankLink::State::kLive, .heard_ms = 100'000});
  QCOMPARE(Summarise(run, 100'000).troubles, QStringList("no step has ended for 90 s"));
  for (const Block& block : ScanBlocks(EndBlock(1, 90'000)).blocks) run.Add(block);
  const Summary ended = Summarise(run, 120'000);
  QCOMPARE(ended.troubles, QStringList());
  QCOMPARE(ended.health, Summary::Health::kEnded);
  QCOMPARE(Summarise(run, 120'000, MomentOf(run, 0)).health, Summary::Health::kGood);
}

void SummaryTest::ARecordingWithoutAnEndIsNotSaidToBeWell() {
  Run run = RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 0}, {.step = 1}}));
  run.SetLink(0, {.state = RankLink::State::kRecorded});
  QCOMPARE(Summarise(run, 0).health, Summary::Health::kCutOff);
  QCOMPARE(Summarise(run, 0, MomentOf(run, 0)).health, Summary::Health::kGood);
}

void SummaryTest::WhyAJobFailedFirstIsSaidFromThenOn() {
  const QByteArray one = RunBlock(0, 2) + StepsBlock(0, {{.step = 0}, {.step = 1}}) +
                         RunBlock(1, 2) + EndBlock(0, 301, "rank 1 ended the job: no data");
  QCOMPARE(Summarise(RunOf(one), 0).troubles,
           QStringList("the job has failed, as rank 0 says: rank 1 ended the job: no data"));
  const Run run = RunOf(one + EndBlock(1, 300, "no data"));
  const Summary failed = Summarise(run, 0);
  QCOMPARE(failed.troubles, QStringList("the job has failed, as rank 1 says: no data"));
  QCOMPARE(failed.health, Summary::Health::kBad);
  QCOMPARE(Summarise(run, 0, MomentOf(run, 0)).troubles, QStringList());
}

void SummaryTest::ASummaryOfOldStepsIsThatOfEachOfThem() {
  Run run = RunOf(RunBlock(0, 1));
  constexpr qint64 kSteps = 4 * RankRun::kMostSteps;
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < kSteps; ++step) steps.push_back({.step = step});
  const QByteArray bytes = StepsBlock(0, steps);
  for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  const Moment old = MomentOf(run, kSteps / 8);
  QVERIFY(run.ranks().at(0).StepsUntil(old.step, 1).back().count > 1);
  for (const std::int64_t step : {std::int64_t{0}, old.step}) {
    const Summary of_old = Summarise(run, 0, MomentOf(run, step));
    const Summary newest = Summarise(run, 0);
    QVERIFY(qAbs(of_old.step_seconds - newest.step_seconds) < 1e-9);
    QCOMPARE(of_old.wire_ratio, newest.wire_ratio);
  }
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::SummaryTest)
#include <summary_test.moc>
