// What is said that a person can do about a run.
#include "monitor_gui/run/advice.h"

#include <QTest>

#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

std::vector<MadeStep> Steps(qint64 count, const MadeStep& like) {
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < count; ++step) {
    steps.push_back(like);
    steps.back().step = step;
  }
  return steps;
}

std::vector<Advice> AdviceFor(const QByteArray& blocks) {
  const Run run = RunOf(blocks);
  return AdviceOf(run, Summarise(run, 0), {});
}

}  // namespace

class AdviceTest : public QObject {
  Q_OBJECT

 private slots:
  void ASoundRunSaysSo();
  void WithoutAStepThereIsNothingToSay();
  void ASlowRankLeadsToItsHost();
  void AnExposedExchangeSaysHowToSendLess_data();
  void AnExposedExchangeSaysHowToSendLess();
  void CostlyCompressionLeadsToTheDecisions();
  void AThresholdThatGrowsOnWantsALongerWarmUp();
  void ALostTensorComesFirst();
};

void AdviceTest::ASoundRunSaysSo() {
  const auto advice = AdviceFor(
      RunBlock(0, 1) + StepsBlock(0, Steps(10, {.exposed_communication_ms = 5, .dense_bytes = 9})));
  QCOMPARE(advice.size(), 1u);
  QCOMPARE(advice[0].weight, Advice::Weight::kGood);
  QVERIFY2(advice[0].text.contains("5 % of a step is exposed"), qPrintable(advice[0].text));
  QCOMPARE(advice[0].page, QString());
}

void AdviceTest::WithoutAStepThereIsNothingToSay() { QVERIFY(AdviceFor(RunBlock(0, 1)).empty()); }

void AdviceTest::ASlowRankLeadsToItsHost() {
  QByteArray bytes;
  for (int rank = 0; rank < 4; ++rank) {
    bytes += RunBlock(rank, 4) +
             StepsBlock(rank, Steps(10, {.exposed_communication_ms = rank == 3 ? 0 : 25}));
  }
  const auto advice = AdviceFor(bytes);
  QCOMPARE(advice.size(), 1u);
  QCOMPARE(advice[0].text, QString("Rank 3 works 33 % longer at a step than the median rank, and "
                                   "all wait for it: look at its host, node-3."));
  QCOMPARE(advice[0].page, "ranks");
}

void AdviceTest::AnExposedExchangeSaysHowToSendLess_data() {
  QTest::addColumn<quint64>("dense");
  QTest::addColumn<QByteArray>("plan");
  QTest::addColumn<QString>("says");
  QTest::newRow("dense") << quint64{1} << QByteArray() << "compression=auto finds out";
  QTest::newRow("compressed") << quint64{100} << QByteArray() << "compress more (a lower density)";
  QTest::newRow("dense is fastest")
      << quint64{1} << PlanBlock(0, {.what = "dense"}) << "compressing was no faster";
  QTest::newRow("searching") << quint64{1} << PlanBlock(0, {.settled = false})
                             << "a search for the fastest plan is under way";
}

void AdviceTest::AnExposedExchangeSaysHowToSendLess() {
  QFETCH(quint64, dense);
  QFETCH(QByteArray, plan);
  QFETCH(QString, says);
  const auto advice =
      AdviceFor(RunBlock(0, 1) + plan +
                StepsBlock(0, Steps(10, {.exposed_communication_ms = 54, .dense_bytes = dense})));
  QCOMPARE(advice.size(), 1u);
  QVERIFY2(advice[0].text.startsWith("The exchange is exposed for 54 % of a step: "),
           qPrintable(advice[0].text));
  QVERIFY2(advice[0].text.contains(says), qPrintable(advice[0].text));
  QCOMPARE(advice[0].page, "lanes");
}

void AdviceTest::CostlyCompressionLeadsToTheDecisions() {
  const auto advice =
      AdviceFor(RunBlock(0, 1) + StepsBlock(0, Steps(10, {.exposed_compression_ms = 12})));
  QCOMPARE(advice.size(), 1u);
  QVERIFY(advice[0].text.startsWith("Steps wait for compression for 12 % of their time: take a "));
  QCOMPARE(advice[0].page, "decisions");
}

void AdviceTest::AThresholdThatGrowsOnWantsALongerWarmUp() {
  const auto said = [](float change_at, float from, float to) {
    std::vector<MadeGradient> gradients;
    std::vector<MadeStep> steps = Steps(60, {.dense_bytes = 9});
    for (qint64 step = 0; step < 60; ++step) {
      steps[static_cast<std::size_t>(step)].target_density =
          static_cast<float>(step) < change_at ? 0.25f : 0.01f;
      gradients.push_back({.step = step, .threshold = step < 40 ? from : to});
    }
    return AdviceFor(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100) + StepsBlock(0, steps) +
                     GradientsBlock(0, gradients));
  };
  QVERIFY(said(0, 1.0f, 6.0f)[0].text.startsWith("The threshold from which entries are sent is 6"));
  QCOMPARE(said(0, 1.0f, 6.0f)[0].page, "sparsity");
  QCOMPARE(said(0, 1.0f, 2.0f)[0].weight, Advice::Weight::kGood);
  // It still warms up, so that a threshold grows.
  QCOMPARE(said(50, 1.0f, 6.0f)[0].weight, Advice::Weight::kGood);
}

void AdviceTest::ALostTensorComesFirst() {
  const auto advice =
      AdviceFor(RunBlock(0, 2) + RunBlock(1, 2) +
                StepsBlock(0, Steps(10, {.exposed_communication_ms = 54, .dense_bytes = 100})) +
                StepsBlock(1, Steps(10, {.exposed_communication_ms = 54, .dense_bytes = 100})) +
                StallsBlock(2000, {{.name = "loss", .waited_seconds = 3, .missing = {1}}}));
  QVERIFY(advice.size() >= 2);
  QCOMPARE(advice[0].text, "'loss' has waited 3.0 s for rank 1.");
  QCOMPARE(advice[0].page, "ranks");
  QCOMPARE(advice.back().page, "lanes");
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::AdviceTest)
#include <advice_test.moc>
