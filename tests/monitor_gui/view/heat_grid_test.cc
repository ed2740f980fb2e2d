// Reduction of layers by steps to the available pixels.
#include "monitor_gui/view/charts/heat_grid.h"

#include <QTest>
#include <numeric>
#include <random>

#include "monitor_gui/run/run.h"
#include "tests/monitor_gui/made_blocks.h"

namespace weir::monitor {
namespace {

constexpr int kLayers = 100;

/// A history with random values.
class Filled {
 public:
  explicit Filled(quint32 seed) : random_(seed) {
    QStringList names;
    for (int layer = 0; layer < kLayers; ++layer) names += QString("layer %1").arg(layer);
    Add(RunBlock(0, 1) + NamesBlock(0, names, 10));
  }
  void AddSteps(qint64 from, qint64 to) {
    std::vector<MadeGradient> gradients;
    for (qint64 step = from; step < to; ++step) {
      for (quint32 layer = 0; layer < kLayers; ++layer) {
        gradients.push_back(
            {.step = step,
             .gradient = layer,
             .density = std::uniform_real_distribution<float>(0.1f, 1.0f)(random_)});
      }
    }
    Add(GradientsBlock(0, gradients));
  }
  const LayerHistory& history() const { return run_.layers(); }

 private:
  void Add(const QByteArray& bytes) {
    for (const Block& block : ScanBlocks(bytes).blocks) run_.Add(block);
  }
  std::mt19937 random_;
  Run run_;
};

std::vector<std::size_t> All() {
  std::vector<std::size_t> order(kLayers);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool AreAlike(const HeatGrid& one, const HeatGrid& other) {
  bool alike = one.size().rows == other.size().rows && one.size().columns == other.size().columns &&
               one.range() == other.range();
  for (int row = 0; alike && row < one.size().rows; ++row) {
    for (int column = 0; alike && column < one.size().columns; ++column)
      alike = one.At(row, column) == other.At(row, column);
  }
  return alike;
}

}  // namespace

class HeatGridTest : public QObject {
  Q_OBJECT

 private slots:
  void ThereAreNeverMoreCellsThanPixels();
  void ACellHasTheExtremesAndTheMeanOfWhatItCovers();
  void EveryLayerIsInOneRow();
  void OnlyWhatHasChangedIsMadeAnew();
  void AnotherRunOfTheSameShapeIsMadeAnew();
  void AResidualStandsUntilItIsMeasuredAgain();
};

void HeatGridTest::ThereAreNeverMoreCellsThanPixels() {
  Filled filled(1);
  filled.AddSteps(0, 1001);
  for (const auto most : {HeatGrid::Size{33, 250}, HeatGrid::Size{1, 1}, HeatGrid::Size{99, 1000},
                          HeatGrid::Size{500, 5000}}) {
    HeatGrid grid;
    grid.Update(filled.history(), Metric::kDensity, All(), most);
    QVERIFY(grid.size().rows <= most.rows && grid.size().rows <= kLayers);
    QVERIFY(grid.size().columns <= most.columns && grid.size().columns <= 1001);
    QVERIFY(2 * grid.size().columns >= std::min(most.columns, 1001));
    QCOMPARE(grid.size().rows, std::min(most.rows, kLayers));
    QVERIFY(grid.StepOf(grid.size().columns) >= 1001);
    QVERIFY(grid.StepOf(grid.size().columns - 1) < 1001);
  }
}

void HeatGridTest::ACellHasTheExtremesAndTheMeanOfWhatItCovers() {
  const quint32 seed = std::random_device{}();
  qInfo() << "seed" << seed;
  Filled filled(seed);
  filled.AddSteps(0, 90);
  HeatGrid grid;
  const auto order = All();
  grid.Update(filled.history(), Metric::kDensity, order, {.rows = 7, .columns = 13});
  for (int row = 0; row < grid.size().rows; ++row) {
    for (int column = 0; column < grid.size().columns; ++column) {
      Statistic expected;
      const int end = std::min(static_cast<int>(grid.StepOf(column + 1)), 90);
      for (std::size_t place = grid.RowBegin(row); place < grid.RowBegin(row + 1); ++place) {
        for (int step = static_cast<int>(grid.StepOf(column)); step < end; ++step)
          expected.Add(filled.history().At(Metric::kDensity, order[place], step));
      }
      const Statistic& cell = grid.At(row, column);
      QCOMPARE(cell.count, expected.count);
      QCOMPARE(cell.min, expected.min);
      QCOMPARE(cell.max, expected.max);
      QVERIFY(std::abs(cell.mean() - expected.mean()) < 1e-5f);
      QVERIFY(static_cast<double>(cell.mean()) <= grid.range().high);
      QVERIFY(static_cast<double>(cell.mean()) >= grid.range().low);
    }
  }
}

void HeatGridTest::EveryLayerIsInOneRow() {
  Filled filled(1);
  filled.AddSteps(0, 2);
  for (const int rows : {1, 3, 64, 99, 100, 300}) {
    HeatGrid grid;
    grid.Update(filled.history(), Metric::kDensity, All(), {.rows = rows, .columns = 5});
    QCOMPARE(grid.RowBegin(0), 0u);
    QCOMPARE(grid.RowBegin(grid.size().rows), std::size_t{kLayers});
    for (int row = 0; row < grid.size().rows; ++row)
      QVERIFY(grid.RowBegin(row) < grid.RowBegin(row + 1));
  }
}

void HeatGridTest::OnlyWhatHasChangedIsMadeAnew() {
  Filled filled(1);
  filled.AddSteps(0, 100);
  const HeatGrid::Size most{.rows = 50, .columns = 70};
  HeatGrid grid;
  grid.Update(filled.history(), Metric::kDensity, All(), most);
  QCOMPARE(grid.changed().size(), 50u);  // Two steps a column.
  grid.Update(filled.history(), Metric::kDensity, All(), most);
  QVERIFY(grid.changed().empty());
  filled.AddSteps(99, 101);
  grid.Update(filled.history(), Metric::kDensity, All(), most);
  QCOMPARE(grid.changed(), (std::vector<int>{49, 50}));
  HeatGrid anew;
  anew.Update(filled.history(), Metric::kDensity, All(), most);
  QVERIFY(AreAlike(grid, anew));
  std::vector<std::size_t> backwards = All();
  std::ranges::reverse(backwards);
  grid.Update(filled.history(), Metric::kDensity, backwards, most);
  anew = {};
  anew.Update(filled.history(), Metric::kDensity, backwards, most);
  QVERIFY(AreAlike(grid, anew));
}

void HeatGridTest::AnotherRunOfTheSameShapeIsMadeAnew() {
  Filled one(1);
  Filled other(2);
  one.AddSteps(0, 10);
  other.AddSteps(0, 10);
  const HeatGrid::Size most{.rows = 50, .columns = 70};
  HeatGrid grid;
  grid.Update(one.history(), Metric::kDensity, All(), most);
  grid.Update(other.history(), Metric::kDensity, All(), most);
  HeatGrid anew;
  anew.Update(other.history(), Metric::kDensity, All(), most);
  QVERIFY(AreAlike(grid, anew));
}

void HeatGridTest::AResidualStandsUntilItIsMeasuredAgain() {
  Run run;
  const QByteArray bytes =
      RunBlock(0, 1) + NamesBlock(0, {"conv"}, 10) +
      GradientsBlock(0, {{.step = 0, .residual_ratio = 4}, {.step = 1}, {.step = 2}});
  for (const Block& block : ScanBlocks(bytes).blocks) run.Add(block);
  HeatGrid grid;
  grid.Update(run.layers(), Metric::kResidual, {0}, {.rows = 5, .columns = 5});
  QCOMPARE(grid.At(0, 2).mean(), 4.0f);
  const QByteArray more = GradientsBlock(0, {{.step = 3, .residual_ratio = 6}});
  for (const Block& block : ScanBlocks(more).blocks) run.Add(block);
  grid.Update(run.layers(), Metric::kResidual, {0}, {.rows = 5, .columns = 5});
  QCOMPARE(grid.At(0, 2).mean(), 4.0f);
  QCOMPARE(grid.At(0, 3).mean(), 6.0f);
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::HeatGridTest)
#include <heat_grid_test.moc>
