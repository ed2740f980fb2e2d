#include "benchmarks/dashboard/window_case.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QThread>
#include <algorithm>
#include <stdexcept>

#include "benchmarks/dashboard/driver.h"
#include "common/clock.h"
#include "monitor_gui/window/appearance.h"

namespace weir::bench {
namespace {

using monitor::MainWindow;
using monitor::Session;

constexpr int kBetweenFramesMs = 5;  // While nobody acts.

/// Peak memory of this process, mapped files included.
double PeakMb() {
  QFile status("/proc/self/status");
  if (!status.open(QIODevice::ReadOnly)) throw std::runtime_error("/proc/self/status is missing");
  for (const QByteArray& line : status.readAll().split('\n')) {
    if (line.startsWith("VmHWM:")) return line.mid(6).trimmed().split(' ')[0].toDouble() * 1.024e-3;
  }
  throw std::runtime_error("/proc/self/status does not tell VmHWM");
}

bool HasAllRanks(const monitor::Run& run, int ranks) {
  int with_layers = 0;
  for (const auto& [rank, known] : run.ranks())
    with_layers += known.steps().empty() || known.stages().empty() ? 0 : 1;
  return with_layers == ranks && run.layers().columns() > 0;
}

}  // namespace

nlohmann::json Measure(const WindowCase& of) {
  monitor::InitialiseAppearance();
  QElapsedTimer time;
  time.start();
  MainWindow window(of.place, {});
  bool finished = false;
  QString failure;
  QObject::connect(&window.session(), &Session::Finished, [&] { finished = true; });
  QObject::connect(&window.session(), &Session::Failed, [&](const QString& why) { failure = why; });
  window.show();
  Driver driver(window);
  driver.Frame([] {});
  const double first_frame = static_cast<double>(NowNs() - of.started_ns) * 1e-9;
  const auto is_open = [&] {
    if (!window.session().is_live()) return finished;
    return window.session().run().Read(
        [&](const monitor::Run& run) { return HasAllRanks(run, of.ranks); });
  };
  double slowest = 0;
  while (!is_open()) {
    if (!failure.isEmpty()) throw std::runtime_error(failure.toStdString());
    slowest = std::max(slowest, driver.Frame([] {}).wall);
    QThread::msleep(kBetweenFramesMs);
  }
  driver.Frame([&] { window.Refresh(); });
  const double open = static_cast<double>(time.nsecsElapsed()) * 1e-9;
  nlohmann::json result = {
      {"first_frame_s", first_frame}, {"open_s", open}, {"slowest_while_opening_s", slowest}};
  for (const auto& [page, frames] : driver.Drive(of.seconds)) {
    auto& found = result["frames"][page.toStdString()];
    for (const FrameTime& frame : frames) {
      found["wall"].push_back(frame.wall);
      found["cpu"].push_back(frame.cpu);
    }
  }
  result["peak_mb"] = PeakMb();
  return result;
}

}  // namespace weir::bench
