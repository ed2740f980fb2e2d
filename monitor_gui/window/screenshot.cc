#include "monitor_gui/window/screenshot.h"

#include <QApplication>
#include <algorithm>
#include <cstdio>

namespace weir::monitor {
namespace {

constexpr int kLookMs = 250;
constexpr int kMostLooks = 120;  // Half a minute.
constexpr int kLooksBeforeAWord = 12;
constexpr std::size_t kSteps = 8;  // In a live run, before a picture is worth taking.

}  // namespace

Screenshot::Screenshot(MainWindow& window, QString path, std::optional<std::int64_t> step)
    : window_(window), path_(std::move(path)), step_(step) {
  for (Session* session : {&window.session(), window.other_session()}) {
    if (session == nullptr) continue;
    const std::size_t index = watched_.size();
    watched_.push_back({.session = session, .said = {}});
    if (!session->is_live()) ++unread_;
    connect(session, &Session::Finished, this, [this] { --unread_; });
    connect(session, &Session::Failed, this, &Screenshot::GiveUp);
    connect(session, &Session::Said, this,
            [this, index](const QString& what) { watched_[index].said = what; });
  }
  connect(&timer_, &QTimer::timeout, this, &Screenshot::Look);
  timer_.start(kLookMs);
}

void Screenshot::Look() {
  bool is_enough = unread_ == 0;
  for (const Watched& one : watched_) {
    if (!one.session->is_live()) continue;
    one.session->run().Read([&](const Run& run) {
      const auto has_steps = [](const auto& rank) { return rank.second.steps().size() >= kSteps; };
      is_enough = is_enough && !run.ranks().empty() && std::ranges::all_of(run.ranks(), has_steps);
    });
  }
  if (is_enough) return Take();
  ++looks_;
  if (looks_ != kLooksBeforeAWord && looks_ != kMostLooks) return;
  QStringList said;
  for (const Watched& one : watched_) said += one.said;
  const QString why = tr("there is too little to show: %1").arg(said.join("; "));
  if (looks_ == kMostLooks) return GiveUp(why);
  std::fprintf(stderr, "weir-monitor: %s; waiting\n", qPrintable(why));
}

void Screenshot::Take() {
  timer_.stop();
  window_.Refresh();
  if (step_) {
    window_.replay().GoTo(*step_);
  } else {
    window_.replay().SetFollowing(true);  // The demo plays.
  }
  do {
    QApplication::processEvents();  // Pages lay themselves out in events of their own.
  } while (!window_.IsReady());
  QApplication::processEvents();
  window_.Refresh();
  if (!window_.grab().save(path_, "PNG")) return GiveUp(tr("cannot write %1").arg(path_));
  QApplication::exit(0);
}

void Screenshot::GiveUp(const QString& why) {
  timer_.stop();
  std::fprintf(stderr, "weir-monitor: %s\n", qPrintable(why));
  QApplication::exit(1);
}

}  // namespace weir::monitor
