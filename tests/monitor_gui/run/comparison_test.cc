// Two runs side by side: their fit, and their differences.
#include "monitor_gui/run/comparison.h"

#include <QTest>

#include "monitor_gui/view/charts/lanes_model.h"
#include "monitor_gui/view/tables/compared_layers_model.h"
#include "monitor_gui/view/tables/roles.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Makes a run of one rank, whose layers have had a step each: so many bytes of the first one,
/// twice as many of the second, and so on.
Run RunWith(const QStringList& layers, quint64 payload_bytes) {
  std::vector<MadeGradient> gradients;
  for (quint32 i = 0; i < layers.size(); ++i)
    gradients.push_back({.gradient = i, .payload_bytes = (i + 1) * payload_bytes});
  return RunOf(RunBlock(0, 1) + NamesBlock(0, layers, 100) + GradientsBlock(0, gradients));
}

constexpr int kPayload = ComparedLayersModel::kFirstMetric + 2 * static_cast<int>(Metric::kPayload);

}  // namespace

class ComparisonTest : public QObject {
  Q_OBJECT

 private slots:
  void LayersAreMatchedByName();
  void WhatIsOnlyInOneRunIsSaid();
  void RunsThatFitNeedNoWords();
  void TheTableHasTheDifferences();
  void ALayerOfOneRunHasNoDifference();
  void LanesOfBothRunsEndWithTheStepThatIsLookedAt();
};

void ComparisonTest::LayersAreMatchedByName() {
  const Run a = RunWith({"conv", "fc"}, 1);
  const Run b = RunWith({"head", "fc"}, 1);
  const std::vector<ComparedLayer> layers = CompareLayers(a.layers(), b.layers());
  QCOMPARE(layers.size(), 3u);
  QVERIFY(layers[0].in_a == 0u && !layers[0].in_b);  // conv
  QVERIFY(layers[1].in_a == 1u && layers[1].in_b == 1u);
  QVERIFY(!layers[2].in_a && layers[2].in_b == 0u);  // head
}

void ComparisonTest::WhatIsOnlyInOneRunIsSaid() {
  const Run a = RunWith({"a1", "a2", "a3", "a4", "a5", "fc"}, 1);
  Run b = RunWith({"head", "fc"}, 1);
  const QByteArray second = RunBlock(1, 2);
  b.Add(ScanBlocks(second).blocks.front());
  const QString said = DescribeFit(a, b).join(" ");
  QCOMPARE(
      said,
      "A has 1 ranks, B has 2. 1 layers are in both. Only in A: a1, a2, a3 and 2 more. Only in "
      "B: head.");
}

void ComparisonTest::RunsThatFitNeedNoWords() {
  QVERIFY(DescribeFit(RunWith({"conv", "fc"}, 1), RunWith({"fc", "conv"}, 9)).isEmpty());
}

void ComparisonTest::TheTableHasTheDifferences() {
  const Run a = RunWith({"conv", "fc"}, 1000);
  const Run b = RunWith({"conv", "fc"}, 750);
  ComparedLayersModel model;
  model.Refresh({.run = a, .other = &b});
  QCOMPARE(model.rowCount(), 2);
  QCOMPARE(model.index(1, kPayload).data().toString(), "2.00 kB");
  QCOMPARE(model.index(1, kPayload + 1).data().toString(), QString("−500 B (−25.0 %)"));
  QCOMPARE(model.index(1, kPayload + 1).data(kValueRole).toDouble(), -500.0);
  QCOMPARE(model.headerData(kPayload + 1, Qt::Horizontal, kUnitRole).toString(), "B");
}

void ComparisonTest::ALayerOfOneRunHasNoDifference() {
  const Run a = RunWith({"conv"}, 1000);
  const Run b = RunWith({"fc"}, 1000);
  ComparedLayersModel model;
  model.Refresh({.run = a, .other = &b});
  QCOMPARE(model.rowCount(), 2);
  for (const int row : {0, 1}) QCOMPARE(model.index(row, kPayload + 1).data().toString(), "–");
  QCOMPARE(model.index(0, ComparedLayersModel::kIn).data().toString(), "only A");
  QCOMPARE(model.index(1, ComparedLayersModel::kIn).data().toString(), "only B");
  QCOMPARE(model.index(1, ComparedLayersModel::kName).data().toString(), "fc");
}

void ComparisonTest::LanesOfBothRunsEndWithTheStepThatIsLookedAt() {
  const Run a = RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 0}, {.step = 1}}));
  const Run b = RunOf(RunBlock(0, 1) + StepsBlock(0, {{.step = 0, .duration_ms = 30}}));
  LanesModel model;
  const Moment at = MomentOf(a, 1);
  model.Refresh({.run = a, .at = at, .other = &b, .other_at = MomentOf(b, 1)},
                {at.end_ns - 200 * kMs, at.end_ns}, 1000);
  QCOMPARE(model.rowCount(), 2 * kLanes);
  QCOMPARE(model.row(0).intervals.back().end_ns, 200 * kMs);
  QCOMPARE(model.row(kLanes).intervals.back().end_ns, 200 * kMs);
  QCOMPARE(model.row(kLanes).intervals.back().start_ns, 170 * kMs);
  QCOMPARE(model.index(kLanes).data().toString(), "rank 0 B, backprop");
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::ComparisonTest)
#include <comparison_test.moc>
