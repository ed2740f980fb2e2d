// A run's figures over its steps, its slowest layers, and where a layer's gradients are.
#include "monitor_gui/run/step_series.h"

#include <QJsonDocument>
#include <QTest>

#include "monitor_gui/run/layer_buckets.h"
#include "monitor_gui/run/slowest_layers.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

QByteArray StateBlock(const std::vector<qint64>& times_ms, const std::vector<quint64>& sent) {
  std::vector<qint64> times;
  for (const qint64 ms : times_ms) times.push_back(ms * 1'000'000);
  return MadeBlock("state", 0)
      .Column("time_ns", "<i8", times)
      .Column("sent_bytes", "<u8", sent)
      .Bytes();
}

}  // namespace

class StepSeriesTest : public QObject {
  Q_OBJECT

 private slots:
  void ThePartsOfAStepAreItsTime();
  void RatesAreThoseBetweenTwoStates();
  void TheLimitHoldsUntilItIsMeasuredAgain();
  void TheSlowestLayersComeFirst();
  void ALayersBucketFollowsItsGradients();
};

void StepSeriesTest::ThePartsOfAStepAreItsTime() {
  const Run run = RunOf(
      RunBlock(0, 1) +
      StepsBlock(0, {{.step = 0, .exposed_communication_ms = 30, .exposed_compression_ms = 10},
                     {.step = 1}}));
  const StepParts parts = StepPartsOf(run.ranks().at(0));
  QCOMPARE(parts.own, StepSeries({{0, 0.06}, {1, 0.1}}));
  QCOMPARE(parts.compression, StepSeries({{0, 0.01}, {1, 0}}));
  QCOMPARE(parts.communication, StepSeries({{0, 0.03}, {1, 0}}));
}

void StepSeriesTest::RatesAreThoseBetweenTwoStates() {
  // Steps end at 100, 200, ... ms; the one before the first state counts for nothing.
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < 6; ++step) steps.push_back({.step = step, .dense_bytes = 1000});
  const Run run =
      RunOf(RunBlock(0, 1) + StepsBlock(0, steps) + StateBlock({150, 350, 550}, {0, 400, 500}));
  const ByteRates rates = ByteRatesOf(run.ranks().at(0));
  QCOMPARE(rates.sent, StepSeries({{2, 2000}, {4, 500}}));
  QCOMPARE(rates.dense, StepSeries({{2, 10'000}, {4, 10'000}}));
}

void StepSeriesTest::TheLimitHoldsUntilItIsMeasuredAgain() {
  const Run run =
      RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 0}, {.step = 9}}) +
            PlanBlock(0, {.from_step = 0}) + PlanBlock(0, {.from_step = 2, .network = 100.0}) +
            PlanBlock(0, {.from_step = 5, .network = 50.0}) +
            PlanBlock(0, {.from_step = 10, .network = 70.0}));
  QCOMPARE(NetworkLimitOf(run), StepSeries({{2, 100}, {5, 100}, {5, 50}, {9, 50}}));
  QVERIFY(NetworkLimitOf(RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 0}}))).isEmpty());
}

void StepSeriesTest::TheSlowestLayersComeFirst() {
  const Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"a", "b", "c"}, 10) +
                        StepsBlock(0, {{.step = 0}, {.step = 1}}) +
                        GradientsBlock(0, {{.step = 0, .gradient = 0, .latency_ms = 9},
                                           {.step = 0, .gradient = 1, .latency_ms = 1},
                                           {.step = 0, .gradient = 2, .latency_ms = 5},
                                           {.step = 1, .gradient = 1, .latency_ms = 20}}));
  QStringList names;
  for (const SlowLayer& slow : SlowestLayers(run.layers(), 0, 2))
    names += run.layers().layers()[slow.layer].name;
  QCOMPARE(names, QStringList({"a", "c"}));
  QCOMPARE(SlowestLayers(run.layers(), 0, 9).size(), 3u);
  QVERIFY(SlowestLayers(Run().layers(), 0, 9).empty());
}

void StepSeriesTest::ALayersBucketFollowsItsGradients() {
  const auto entry = [](int number, const QString& name, int elements) {
    QJsonObject made{{"bucket", number}, {"name", name}};
    if (elements > 0) made["elements"] = elements;
    return made;
  };
  const QJsonArray names{entry(0, "a", 4),   entry(1, "b", 4), entry(5, "d", 4),
                         entry(6, "e", 4),   entry(7, "f", 4), entry(8, "d+2", 0),
                         entry(2, "a+1", 0), entry(3, "c", 4), entry(4, "c", 0)};
  const Run run =
      RunOf(RunBlock(0, 1) + MadeBlock("names", 0).Text(QJsonDocument(names).toJson()).Bytes());
  const RankRun& rank = run.ranks().at(0);
  QCOMPARE(BucketsOf(rank, "a"), std::set<std::uint32_t>{2});
  QCOMPARE(BucketsOf(rank, "b"), std::set<std::uint32_t>{2});
  QCOMPARE(BucketsOf(rank, "c"), std::set<std::uint32_t>{4});
  QCOMPARE(BucketsOf(rank, "d"), std::set<std::uint32_t>{8});
  QVERIFY(BucketsOf(rank, "d+2").empty());
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::StepSeriesTest)
#include <step_series_test.moc>
