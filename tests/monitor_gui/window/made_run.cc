#include "tests/monitor_gui/window/made_run.h"

#include <QFile>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>

#include "monitor_gui/window/appearance.h"
#include "tests/monitor_gui/made_blocks.h"

namespace weir::monitor {
namespace {

constexpr qint64 kSteps = 40;

std::vector<MadeStep> Steps() {
  std::vector<MadeStep> steps;
  for (qint64 step = 0; step < kSteps; ++step) {
    steps.push_back({.step = step,
                     .exposed_communication_ms = 20,
                     .payload_bytes = 1000,
                     .dense_bytes = 100'000,
                     .target_density = step < 10 ? 0.1f : 0.01f});
  }
  return steps;
}

std::vector<MadeGradient> Gradients() {
  std::vector<MadeGradient> gradients;
  for (qint64 step = 0; step < kSteps; ++step) {
    for (quint32 gradient = 0; gradient < 3; ++gradient) {
      gradients.push_back({.step = step,
                           .gradient = gradient,
                           .latency_ms = 5 * (gradient + 1),
                           .payload_bytes = 900 * (gradient + 1),
                           .density = (step < 10 ? 0.1f : 0.01f) * static_cast<float>(gradient + 1),
                           .residual_ratio = 2.0f});
    }
  }
  return gradients;
}

std::vector<MadeStage> Stages() {
  std::vector<MadeStage> stages;
  for (qint64 step = 0; step < kSteps; ++step) {
    for (quint8 stage : {quint8{3}, quint8{4}, quint8{5}}) {
      const qint64 start = step * 100'000 + stage * 10'000;
      stages.push_back({.start_us = start,
                        .end_us = start + 8'000,
                        .stage = stage,
                        .bytes_in = 64,
                        .step = step});
    }
  }
  return stages;
}

}  // namespace

QByteArray MadeRun() {
  QByteArray bytes;
  for (int rank = 0; rank < 2; ++rank) {
    bytes += RunBlock(rank, 2) +
             NamesBlock(rank, {"conv1.weight", "conv2.weight", "fc.weight"}, 5000) +
             StepsBlock(rank, Steps()) + GradientsBlock(rank, Gradients()) +
             StagesBlock(rank, Stages()) + EndBlock(rank, 4000);
    bytes += MadeBlock("state", rank)
                 .Column<qint64>("time_ns", "<i8", {0, 1'000'000'000, 2'000'000'000})
                 .Column<quint64>("sent_bytes", "<u8", {0, 5'000'000, 6'000'000})
                 .Column<quint64>("received_bytes", "<u8", {0, 5'000'000, 6'000'000})
                 .Bytes();
  }
  return bytes;
}

void WriteFile(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  QCOMPARE(file.write(bytes), bytes.size());
}

void ShowLoaded(MainWindow& window) {
  QSignalSpy finished(&window.session(), &Session::Finished);  // Which is told in the event loop.
  window.resize(1000, 700);
  window.show();
  QVERIFY(QTest::qWaitForWindowExposed(&window));
  QTRY_COMPARE(finished.size(), 1);
  window.Refresh();
}

Tile& TileOf(MainWindow& window, const QString& name) {
  for (Tile* tile : window.findChildren<Tile*>())
    if (tile->accessibleName() == name) return *tile;
  qFatal("there is no tile %s", qPrintable(name));
}

qsizetype Colors(QWidget& widget) {
  const QImage image = widget.grab().toImage();
  QSet<QRgb> colors;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) colors.insert(image.pixel(x, y));
  }
  return colors.size();
}

void PrepareWindows(const QString& name) {
  QStandardPaths::setTestModeEnabled(true);
  QCoreApplication::setOrganizationName("weir-" + name);
  QSettings().clear();
  InitialiseAppearance();
}

}  // namespace weir::monitor
