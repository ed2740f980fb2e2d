#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <QRegularExpression>
#include <QUrl>
#include <cstdio>
#include <memory>
#include <optional>

#include "monitor_gui/source/trust.h"
#include "monitor_gui/window/appearance.h"
#include "monitor_gui/window/demo.h"
#include "monitor_gui/window/main_window.h"
#include "monitor_gui/window/screenshot.h"

// weir-monitor: the dashboard. docs/how-to/watch-a-job.md says how to use it.

namespace weir::monitor {
namespace {

int Refuse(const QString& why) {
  std::fprintf(stderr, "weir-monitor: %s\n", qPrintable(why));
  return 2;
}

/// Returns true if the request needs no display (pictures and texts), or if there is one. Without
/// one Qt would abort. Qt's own -platform overrides this.
bool CanDisplay(int argc, char** argv) {
  for (const char* variable : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
    if (!qEnvironmentVariableIsEmpty(variable)) return true;
  const QStringList without{"-h", "--help", "--help-all", "-v", "--version"};
  for (int i = 1; i < argc; ++i) {
    const QString argument = QString::fromLocal8Bit(argv[i]);
    if (argument == "-platform" || argument == "--platform") return true;
    if (!argument.startsWith("--screenshot") && !without.contains(argument)) continue;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  if (!CanDisplay(argc, argv)) {
    return Refuse(
        "there is no display for a window: DISPLAY and WAYLAND_DISPLAY are not set. "
        "--screenshot PNG makes a picture without one, and weir-top shows the numbers in a "
        "terminal");
  }
  const QApplication application(argc, argv);
  QApplication::setOrganizationName("weir");
  QApplication::setApplicationName("weir-monitor");
  QApplication::setApplicationVersion(WEIR_VERSION);

  QCommandLineParser parser;
  parser.setApplicationDescription(
      "Shows a training job: live (http://HOST:PORT of rank 0, as weirrun --metrics-port opens "
      "it), or "
      "as it was recorded (a file of weirrun --record).");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(
      "RUN", "URL of rank 0, or the path of a run log. With a second one, the two are compared.",
      "[RUN [RUN]]");
  const QCommandLineOption page(
      "page", "Begin with this page: " + MainWindow::PageNames().join(", "), "NAME", "overview");
  const QCommandLineOption screenshot("screenshot", "Write a picture of the window and end.",
                                      "PNG");
  const QCommandLineOption size("size", "Of the window, in pixels.", "WIDTHxHEIGHT");
  const QCommandLineOption step("step", "With --screenshot: shows the run as it was at this step.",
                                "NUMBER");
  const QCommandLineOption samples("samples-per-step",
                                   "Samples that all ranks take in a step together, for samples a "
                                   "second, where the job does not "
                                   "say (WEIR_BATCH_SIZE) or means others.",
                                   "NUMBER");
  const QCommandLineOption demo("demo", "Plays a recording that comes with the program.");
  parser.addOptions({demo, page, screenshot, size, step, samples});
  parser.process(application);
  QStringList places = parser.positionalArguments();
  if (parser.isSet(demo)) places.prepend(kDemoPlace);
  const QRegularExpression address("^[\\w.-]+:\\d+$");
  for (QString& place : places) {
    if (address.match(place).hasMatch() && !QFileInfo::exists(place)) place.prepend("http://");
  }
  for (const QString& place : places) {
    if (!Session::IsUrl(place) || QUrl(place).isValid()) continue;
    return Refuse(place + " is not an address: " + QUrl(place).errorString());
  }
  if (places.size() > 2) return Refuse("give one RUN, or two to compare, not " + places.join(" "));

  // The same place that OpenSSL's own programs, curl and Python use.
  if (const QString why = TrustAlso(qEnvironmentVariable("SSL_CERT_FILE")); !why.isEmpty()) {
    return Refuse("SSL_CERT_FILE=" + why);
  }
  InitialiseAppearance();
  MainWindow window(places.value(0), qEnvironmentVariable("WEIR_METRICS_TOKEN"), places.value(1));
  if (!window.ShowPage(parser.value(page))) {
    return Refuse("--page " + parser.value(page) + ": pages are " +
                  MainWindow::PageNames().join(", "));
  }
  if (parser.isSet(size)) {
    const QStringList sides = parser.value(size).split('x');
    const int width = sides.value(0).toInt();
    const int height = sides.value(1).toInt();
    const QSize least = window.minimumSizeHint();
    constexpr int kMost = 16'384;
    if (sides.size() != 2 || width < least.width() || height < least.height() || width > kMost ||
        height > kMost) {
      return Refuse(QString("--size %1: such as 1280x800; at least %2x%3, and no side above %4")
                        .arg(parser.value(size))
                        .arg(least.width())
                        .arg(least.height())
                        .arg(kMost));
    }
    window.resize(width, height);
  }
  if (parser.isSet(samples)) {
    bool well = false;
    const double number = parser.value(samples).toDouble(&well);
    if (!well || number <= 0) {
      return Refuse("--samples-per-step " + parser.value(samples) + ": give a number above 0");
    }
    window.SetSamplesPerStep(number);
  }
  std::optional<std::int64_t> at_step;
  if (parser.isSet(step)) {
    bool well = false;
    at_step = parser.value(step).toLongLong(&well);
    if (!well || *at_step < 0 || !parser.isSet(screenshot)) {
      return Refuse("--step " + parser.value(step) +
                    ": give a step's number, together with --screenshot");
    }
  }
  std::unique_ptr<Screenshot> shot;
  if (parser.isSet(screenshot)) {
    if (places.isEmpty()) return Refuse("--screenshot needs a RUN");
    shot = std::make_unique<Screenshot>(window, parser.value(screenshot), at_step);
  }
  window.show();
  return QApplication::exec();
}

}  // namespace
}  // namespace weir::monitor

int main(int argc, char** argv) { return weir::monitor::Main(argc, argv); }
