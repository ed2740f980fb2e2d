// The dashboard's model of a run's blocks: layers, lanes, rows.
#include "monitor_gui/run/run.h"

#include <QTest>
#include <cmath>

#include "monitor_gui/run/lanes.h"
#include "monitor_gui/run/layer_means.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

const Statistic& Cell(const Run& run, Metric metric, std::size_t layer, int column) {
  return run.layers().At(metric, layer, column);
}

constexpr std::int64_t kUs = 1'000;

}  // namespace

class RunTest : public QObject {
  Q_OBJECT

 private slots:
  void ALayersCellCountsAllRanks();
  void ColumnsAreSharedWhenThereAreMoreSteps();
  void ResidualsStandUntilTheyAreMeasuredAgain();
  void AThresholdOfZeroIsNone();
  void LanesShowWhatTouchesTheWindow();
  void BackpropLastsFromBeginStepToTheLastGradient();
  void IntervalsShorterThanAPixelBecomeOne();
  void ARankThatDoesNotKnowItsJobIsOfTheRun();
  void AnotherJobTakesTheRunsPlace();
  void ARunThatBeginsAnewForgetsTheOneBefore();
  void ColumnsSayWhenTheyHaveChanged();
  void MeansOfLayersAreByTheirEntries();
  void OldStepsAreKeptAtACoarserLevel();
  void OldStatesAreKeptAtACoarserLevel();
  void OfManyRanksFewerStagesAreKept();
};

void RunTest::ALayersCellCountsAllRanks() {
  const Run run = RunOf(RunBlock(0, 2) + NamesBlock(0, {"conv", "fc"}, 100) + RunBlock(1, 2) +
                        NamesBlock(1, {"conv", "fc"}, 100) +
                        GradientsBlock(0, {{.step = 5, .gradient = 1, .latency_ms = 10}}) +
                        GradientsBlock(1, {{.step = 5, .gradient = 1, .latency_ms = 30}}));
  QCOMPARE(run.layers().layers().size(), 1u);
  QCOMPARE(run.layers().layers()[0].name, "fc");
  QCOMPARE(run.layers().first_step(), 5);
  const Statistic& latency = Cell(run, Metric::kLatency, 0, 0);
  QCOMPARE(latency.count, 2u);
  QCOMPARE(latency.mean(), 0.02f);
  QCOMPARE(latency.min, 0.01f);
  QCOMPARE(latency.max, 0.03f);
  QCOMPARE(run.layers().Newest(Metric::kLatency, 0).max, 0.03f);
}

void RunTest::ColumnsAreSharedWhenThereAreMoreSteps() {
  Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100));
  const auto add = [&](qint64 step, float density) {
    const QByteArray bytes = GradientsBlock(0, {{.step = step, .density = density}});
    for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  };
  for (qint64 step = 0; step < LayerHistory::kMostColumns; ++step)
    add(step, step % 2 ? 0.5f : 0.25f);
  QCOMPARE(run.layers().columns(), LayerHistory::kMostColumns);
  QCOMPARE(run.layers().steps_per_column(), 1);
  add(LayerHistory::kMostColumns, 1.0f);
  QCOMPARE(run.layers().steps_per_column(), 2);
  QCOMPARE(run.layers().columns(), LayerHistory::kMostColumns / 2 + 1);
  QCOMPARE(Cell(run, Metric::kDensity, 0, 3).mean(), 0.375f);
  QCOMPARE(Cell(run, Metric::kDensity, 0, 3).count, 2u);
  QCOMPARE(Cell(run, Metric::kDensity, 0, LayerHistory::kMostColumns / 2).mean(), 1.0f);
  QCOMPARE(Cell(run, Metric::kDensity, 0, LayerHistory::kMostColumns / 2 + 1).count, 0u);
}

void RunTest::ResidualsStandUntilTheyAreMeasuredAgain() {
  const Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100) +
                        GradientsBlock(0, {{.step = 0, .residual_ratio = 7.0f}, {.step = 1}}) +
                        GradientsBlock(0, {{.step = 2}, {.step = 3, .density = 0.5f}}));
  QCOMPARE(Cell(run, Metric::kResidual, 0, 0).count, 1u);
  QCOMPARE(Cell(run, Metric::kResidual, 0, 1).count, 0u);
  QCOMPARE(run.layers().Newest(Metric::kResidual, 0).mean(), 7.0f);
  // Not of the very newest step, which other ranks may not have told yet.
  QCOMPARE(run.layers().Newest(Metric::kDensity, 0).mean(), 1.0f);
}

void RunTest::AThresholdOfZeroIsNone() {
  const Run run =
      RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100) +
            GradientsBlock(0, {{.step = 0, .threshold = 0.25f}, {.step = 1, .threshold = 0.0f}}));
  QCOMPARE(Cell(run, Metric::kThreshold, 0, 0).mean(), 0.25f);
  QCOMPARE(Cell(run, Metric::kThreshold, 0, 1).count, 0u);
  QCOMPARE(Cell(run, Metric::kDensity, 0, 1).count, 1u);
}

void RunTest::LanesShowWhatTouchesTheWindow() {
  const Run run = RunOf(RunBlock(0, 1) + StagesBlock(0, {{.start_us = 0, .end_us = 10},
                                                         {.start_us = 15, .end_us = 25},
                                                         {.start_us = 30, .end_us = 90},
                                                         {.start_us = 20, .end_us = 40, .stage = 3},
                                                         {.start_us = 95, .end_us = 99}}));
  const TimeWindow window{20 * kUs, 50 * kUs};
  const auto exchange = IntervalsOf(run.ranks().at(0), Lane::kExchange, window, 1);
  QCOMPARE(exchange.size(), 2u);
  QCOMPARE(exchange[0].start_ns, 15 * kUs);
  QCOMPARE(exchange[1].end_ns, 90 * kUs);
  QCOMPARE(IntervalsOf(run.ranks().at(0), Lane::kCompress, window, 1).size(), 1u);
  QVERIFY(IntervalsOf(run.ranks().at(0), Lane::kMerge, window, 1).empty());
}

void RunTest::BackpropLastsFromBeginStepToTheLastGradient() {
  const Run run = RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 2,
                                                         .before_backprop_ms = 30,
                                                         .exposed_communication_ms = 15,
                                                         .exposed_compression_ms = 5}}));
  const auto backprop = IntervalsOf(run.ranks().at(0), Lane::kBackprop, {0, 300'000 * kUs}, 1);
  QCOMPARE(backprop.size(), 1u);
  QCOMPARE(backprop[0].start_ns, 230'000 * kUs);
  QCOMPARE(backprop[0].end_ns, 280'000 * kUs);
}

void RunTest::IntervalsShorterThanAPixelBecomeOne() {
  std::vector<MadeStage> stages;
  for (qint64 i = 0; i < 1000; ++i)
    stages.push_back({.start_us = 10 * i, .end_us = 10 * i + 5, .bytes_in = 2});
  stages.push_back({.start_us = 10'000, .end_us = 19'000, .bytes_in = 1});
  const Run run = RunOf(RunBlock(0, 1) + StagesBlock(0, stages));
  const TimeWindow window{0, 20'000 * kUs};
  const auto joined = IntervalsOf(run.ranks().at(0), Lane::kExchange, window, 20 * kUs);
  QCOMPARE(joined.size(), 2u);
  QCOMPARE(joined[0].count, 1000u);
  QCOMPARE(joined[0].bytes, 2000u);
  QCOMPARE(joined[1].bytes, 1u);
  QCOMPARE(IntervalsOf(run.ranks().at(0), Lane::kExchange, window, 1).size(), 1001u);
}

void RunTest::ARankThatDoesNotKnowItsJobIsOfTheRun() {
  const auto steps = [](int rank) { return StepsBlock(rank, {{.step = 0}}); };
  for (const auto& [zero, one] : {std::pair("", "a1"), std::pair("a1", "")}) {
    const Run run =
        RunOf(RunBlock(0, 2, zero) + steps(0) + RunBlock(1, 2, one) + steps(1) + steps(0));
    QCOMPARE(run.ranks().at(0).steps().size(), 2u);
    QCOMPARE(run.ranks().at(1).steps().size(), 1u);
  }
}

void RunTest::AnotherJobTakesTheRunsPlace() {
  const Run run = RunOf(RunBlock(0, 2, "a1") + RunBlock(1, 2, "a1") + NamesBlock(0, {"old"}, 1) +
                        GradientsBlock(0, {{.step = 900}}) + RunBlock(1, 2, "b2") +
                        StepsBlock(0, {{.step = 900}}));
  QCOMPARE(run.ranks().size(), 1u);  // Rank 0 has said nothing of the new one.
  QVERIFY(run.ranks().contains(1));
  QCOMPARE(run.layers().layers().size(), 0u);
}

void RunTest::ARunThatBeginsAnewForgetsTheOneBefore() {
  const Run run =
      RunOf(RunBlock(0, 1) + NamesBlock(0, {"old"}, 1) + StepsBlock(0, {{.step = 900}}) +
            GradientsBlock(0, {{.step = 900}}) + RunBlock(0, 1) + NamesBlock(0, {"new"}, 1) +
            StepsBlock(0, {{.step = 0}}) + GradientsBlock(0, {{.step = 0}}));
  QCOMPARE(run.ranks().at(0).steps().size(), 1u);
  QCOMPARE(run.layers().layers().size(), 1u);
  QCOMPARE(run.layers().layers()[0].name, "new");
  QCOMPARE(run.layers().first_step(), 0);
}

void RunTest::ColumnsSayWhenTheyHaveChanged() {
  Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 1) +
                  GradientsBlock(0, {{.step = 0}, {.step = 1}}));
  const auto add = [&](const QByteArray& bytes) {
    for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  };
  const std::uint64_t first = run.layers().RevisionOf(0);
  const std::uint64_t second = run.layers().RevisionOf(1);
  add(GradientsBlock(0, {{.step = 1}}));
  QCOMPARE(run.layers().RevisionOf(0), first);
  QVERIFY(run.layers().RevisionOf(1) > second);
  // The numbers go on with another run, so that nothing old is taken for new.
  const std::uint64_t newest = run.layers().RevisionOf(1);
  add(StepsBlock(0, {{.step = 1}}) + RunBlock(0, 1) + NamesBlock(0, {"conv"}, 1) +
      GradientsBlock(0, {{.step = 0}}));
  QVERIFY(run.layers().RevisionOf(0) > newest);
}

void RunTest::MeansOfLayersAreByTheirEntries() {
  Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"small"}, 1));
  const QByteArray large =
      MadeBlock("names", 0).Text(R"([{"bucket": 1, "name": "large", "elements": 3}])").Bytes();
  const auto add = [&](const QByteArray& bytes) {
    for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  };
  add(large + GradientsBlock(0, {{.step = 0, .gradient = 0, .density = 0.5f, .residual_ratio = 4},
                                 {.step = 0, .gradient = 1, .density = 0.1f, .residual_ratio = 2},
                                 {.step = 1, .gradient = 0, .density = 0.25f}}));
  LayerMeans means;
  means.Update(run.layers());
  QCOMPARE(means.means().size(), 2u);
  QVERIFY(qAbs(*means.means()[0].density - 0.2) < 1e-7);
  QVERIFY(qAbs(*means.means()[0].residual - std::sqrt(7.0)) < 1e-7);
  QCOMPARE(means.means()[1].density.value_or(0), 0.25);
  QVERIFY(!means.means()[1].residual.has_value());
  add(GradientsBlock(0, {{.step = 1, .gradient = 1, .density = 0.25f, .residual_ratio = 1}}));
  means.Update(run.layers());
  QCOMPARE(means.means()[1].residual.value_or(0), 1.0);
}

void RunTest::OldStepsAreKeptAtACoarserLevel() {
  Run run = RunOf(RunBlock(0, 1));
  constexpr qint64 kSteps = 1'000'000;
  constexpr qint64 kABlock = 10'000;
  for (qint64 from = 0; from < kSteps; from += kABlock) {
    std::vector<MadeStep> steps;
    for (qint64 step = from; step < from + kABlock; ++step) {
      steps.push_back({.step = step,
                       .exposed_communication_ms = step % 2 == 0 ? 10 : 30,
                       .payload_bytes = step % 2 == 0 ? 100u : 300u});
    }
    const QByteArray bytes = StepsBlock(0, steps);
    for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
    QVERIFY(run.ranks().at(0).steps().size() <= RankRun::kMostSteps);
  }
  const auto& rows = run.ranks().at(0).steps();
  qint64 next = 0;
  for (const StepRow& row : rows) {
    QCOMPARE(row.step, next);
    next += row.count;
    QCOMPARE(row.start_ns, row.step * 100 * 1000 * kUs);
    QCOMPARE(row.end_ns, next * 100 * 1000 * kUs);
    if (row.count > 1) {
      QCOMPARE(row.payload_bytes, 200u);
      QCOMPARE(row.exposed_communication_ns, row.count * 20 * 1000 * kUs);
    }
  }
  QCOMPARE(next, kSteps);
  QVERIFY(rows.front().count > 1);
  for (const StepRow& row : run.ranks().at(0).StepsUntil(kSteps, RankRun::kMostSteps / 4))
    QCOMPARE(row.count, 1u);
  // Old rows are equally coarse everywhere.
  QVERIFY(rows.front().count <= 2 * rows[rows.size() / 8].count);
}

void RunTest::OldStatesAreKeptAtACoarserLevel() {
  Run run = RunOf(RunBlock(0, 1));
  constexpr qint64 kStates = 20'000;
  std::vector<qint64> times;
  std::vector<quint64> sent;
  std::vector<qint64> waiting;
  for (qint64 state = 0; state < kStates; ++state) {
    times.push_back(state);
    sent.push_back(static_cast<quint64>(10 * state));
    waiting.push_back(state == 100 ? 7 : 0);
  }
  const QByteArray bytes = MadeBlock("state", 0)
                               .Column<qint64>("time_ns", "<i8", times)
                               .Column<quint64>("sent_bytes", "<u8", sent)
                               .Column<qint64>("waiting_for_compress", "<i8", waiting)
                               .Bytes();
  for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  const auto& states = run.ranks().at(0).states();
  QVERIFY(states.size() <= RankRun::kMostStates);
  std::int64_t most = 0;
  for (const StateRow& state : states) {
    QCOMPARE(state.sent_bytes, static_cast<quint64>(10 * state.time_ns));
    most = std::max(most, state.waiting[static_cast<std::size_t>(Stage::kCompress)]);
  }
  QCOMPARE(most, 7);
  QCOMPARE(states.back().time_ns, kStates - 1);
}

void RunTest::OfManyRanksFewerStagesAreKept() {
  const std::size_t alone = RunOf(RunBlock(0, 1)).ranks().at(0).most_stages();
  const std::size_t of_many = RunOf(RunBlock(0, 64)).ranks().at(0).most_stages();
  QVERIFY(of_many * 64 < 6 * alone);
  Run run = RunOf(RunBlock(0, 64));
  const QByteArray bytes = StagesBlock(0, std::vector<MadeStage>(of_many));
  for (int i = 0; i < 3; ++i) {
    for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  }
  QCOMPARE(run.ranks().at(0).stages().size(), of_many);
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::RunTest)
#include <run_test.moc>
