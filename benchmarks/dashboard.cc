// The dashboard's window with a job of 1,000 layers, 64 ranks and 10,000 steps, recorded and live
// at 20 steps a second: seconds to open it, seconds of a frame while it is used, and memory. Each
// window is measured in a process of its own.
#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "benchmarks/dashboard/live_endpoint.h"
#include "benchmarks/dashboard/made_job.h"
#include "benchmarks/dashboard/window_case.h"
#include "benchmarks/main.h"
#include "common/clock.h"

namespace weir::bench {
namespace {

struct Options {
  JobShape shape;
  double seconds = 5;
  std::string folder;
  std::string recording;
  std::string role;  // Role of a process that this one starts.
  std::string place;
  std::int64_t started_ns = 0;
};

constexpr int kPatienceMs = 300'000;

QStringList ShapeArguments(const JobShape& shape) {
  return {"--layers",
          QString::number(shape.layers),
          "--ranks",
          QString::number(shape.ranks),
          "--steps",
          QString::number(shape.steps),
          "--steps-per-second",
          QString::number(shape.steps_per_second)};
}

/// A process of this program in another role; it ends with this object.
class Helper {
 public:
  Helper(const QStringList& prefix, const QStringList& arguments) {
    QStringList all = prefix;
    all << QCoreApplication::applicationFilePath() << arguments;
    process_.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    const QString program = all.takeFirst();
    process_.start(program, all);
  }
  ~Helper() {
    if (process_.state() == QProcess::NotRunning) return;
    process_.terminate();
    process_.waitForFinished(kPatienceMs);
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  QByteArray Line() {
    while (!process_.canReadLine()) {
      if (!process_.waitForReadyRead(kPatienceMs))
        throw std::runtime_error("a process of the benchmark ended without an answer");
    }
    return process_.readLine().trimmed();
  }

 private:
  QProcess process_;
};

nlohmann::json MeasureIn(const QStringList& prefix, const Options& options, const QString& place) {
  Helper window(prefix, QStringList{"--role", "window", "--place", place, "--seconds",
                                    QString::number(options.seconds), "--started-ns",
                                    QString::number(NowNs())} +
                            ShapeArguments(options.shape));
  return nlohmann::json::parse(window.Line().toStdString());
}

/// Returns the value that `part` of the values do not exceed.
double Quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

void AddRow(Report& report, const std::string& of, const std::string& display,
            const std::string& page, const std::vector<double>& frames,
            const std::vector<double>& cpu) {
  report.AddRow({{"job", of},
                 {"display", display},
                 {"page", page},
                 {"frames", frames.size()},
                 {"median ms", Quantile(frames, 0.5) * 1e3},
                 {"95 % ms", Quantile(frames, 0.95) * 1e3},
                 {"worst ms", Quantile(frames, 1) * 1e3},
                 {"95 % CPU ms", Quantile(cpu, 0.95) * 1e3}});
}

void Add(Report& report, const std::string& of, const std::string& display,
         const nlohmann::json& found) {
  std::vector<double> all;
  std::vector<double> all_cpu;
  for (const auto& [page, frames] : found["frames"].items()) {
    const auto times = frames["wall"].get<std::vector<double>>();
    const auto cpu = frames["cpu"].get<std::vector<double>>();
    AddRow(report, of, display, page, times, cpu);
    all.insert(all.end(), times.begin(), times.end());
    all_cpu.insert(all_cpu.end(), cpu.begin(), cpu.end());
  }
  AddRow(report, of, display, "(all)", all, all_cpu);
  const std::string where = of + ", " + display + ": ";
  double seconds = 0;
  for (const double frame : all) seconds += frame;
  report.AddTarget(where + "frames a second", static_cast<double>(all.size()) / seconds, ">=", 30);
  report.AddTarget(where + "95 % of frames, ms", Quantile(all, 0.95) * 1e3, "<=", 33);
  report.AddTarget(where + "peak memory, MB", found["peak_mb"], "<=", 1000);
  report.AddTarget(where + "first frame, s", found["first_frame_s"], "<=", 1);
  report.AddTarget(where + "open, s", found["open_s"], "<=", 3);
  report.AddTarget(where + "longest frame while it opens, ms",
                   found["slowest_while_opening_s"].get<double>() * 1e3, "<=", 100);
}

Report MeasureAll(const Options& options) {
  Report report("dashboard");
  std::string recording = options.recording;
  const QTemporaryDir folder(QString::fromStdString(options.folder) + "/weir-dashboard-XXXXXX");
  if (recording.empty()) {
    if (!folder.isValid()) throw std::runtime_error(folder.errorString().toStdString());
    std::cerr << "writing a recording of " << options.shape.ranks << " ranks\n";
    recording = WriteRecording(options.shape, folder.path().toStdString());
  }
  std::vector<std::pair<std::string, QStringList>> displays = {
      {"offscreen", {"env", "QT_QPA_PLATFORM=offscreen"}}};
  if (!QStandardPaths::findExecutable("xvfb-run").isEmpty())
    displays.push_back({"xvfb", {"env", "QT_QPA_PLATFORM=xcb", "xvfb-run", "-a"}});
  for (const auto& [display, prefix] : displays) {
    Add(report, "recorded", display, MeasureIn(prefix, options, QString::fromStdString(recording)));
    Helper endpoint({}, QStringList{"--role", "endpoint"} + ShapeArguments(options.shape));
    const QString url = endpoint.Line();
    Add(report, "live", display, MeasureIn(prefix, options, url));
  }
  return report;
}

/// Runs a helper's role. Prints one line.
void Play(const Options& options, int argc, char** argv) {
  if (options.role == "endpoint") {
    const QCoreApplication application(argc, argv);
    const LiveEndpoint endpoint(options.shape);
    std::cout << endpoint.url().toStdString() << '\n' << std::flush;
    QCoreApplication::exec();
    return;
  }
  const QApplication application(argc, argv);
  QCoreApplication::setOrganizationName("weir-benchmark");
  QStandardPaths::setTestModeEnabled(true);
  std::cout << Measure({.place = QString::fromStdString(options.place),
                        .ranks = options.shape.ranks,
                        .seconds = options.seconds,
                        .started_ns = options.started_ns})
                   .dump()
            << '\n'
            << std::flush;
}

std::optional<Report> Run(const Options& options, int argc, char** argv) {
  if (!options.role.empty()) {
    Play(options, argc, argv);
    return std::nullopt;
  }
  const QCoreApplication application(argc, argv);
  return MeasureAll(options);
}

int MainOf(int argc, char** argv) {
  Options options;
  options.folder = QDir::tempPath().toStdString();
  return bench::Main(
      {"dashboard",
       "The dashboard's window on a large job, recorded and live",
       {{"--layers", &options.shape.layers, "Of the job", Option::kShowsDefault},
        {"--ranks", &options.shape.ranks, "Of the job", Option::kShowsDefault},
        {"--steps", &options.shape.steps, "Of the job, before it is followed",
         Option::kShowsDefault},
        {"--steps-per-second", &options.shape.steps_per_second, "Of the job",
         Option::kShowsDefault},
        {"--seconds", &options.seconds, "On each page", Option::kShowsDefault},
        {"--folder", &options.folder, "Where the recording is written, for so long",
         Option::kShowsDefault},
        {"--recording", &options.recording, "One that is there, in place of one that is made"},
        {"--role", &options.role, "", Option::kHidden},
        {"--place", &options.place, "", Option::kHidden},
        {"--started-ns", &options.started_ns, "", Option::kHidden}}},
      argc, argv, [&] { return Run(options, argc, argv); });
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) { return weir::bench::MainOf(argc, argv); }
