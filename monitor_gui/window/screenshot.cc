#include "monitor_gui/window/screenshot.h"

#include <QApplication>
#include <algorithm>
#include <cstdio>

namespace weir::monitor {
namespace {

constexpr int kLookMs = 250;
constexpr int kMostLooks = 120;    // Half a minute.
constexpr std::size_t kSteps = 8;  // Of a live run, before it is worth a picture.

}  // namespace

Screenshot::Screenshot(MainWindow& window, QString path, std::optional<std::int64_t> step)
    : window_(window), path_(std::move(path)), step_(step) {
  for (Session* session : {&window.session(), window.other_session()}) {
    if (session == nullptr) continue;
    if (!session->is_live()) ++unread_;
    connect(session, &Session::Finished, this, [this] { --unread_; });
    connect(session, &Session::Failed, this, &Screenshot::GiveUp);
    connect(session, &Session::Said, this, [this](const QString& what) { said_ = what; });
  }
  connect(&timer_, &QTimer::timeout, this, &Screenshot::Look);
  timer_.start(kLookMs);
}

void Screenshot::Look() {
  const bool live = window_.session().is_live();
  const bool enough = window_.session().run().Read([](const Run& run) {
    const auto has_steps = [](const auto& rank) { return rank.second.steps().size() >= kSteps; };
    return !run.ranks().empty() && std::all_of(run.ranks().begin(), run.ranks().end(), has_steps);
  });
  if (unread_ == 0 && (!live || enough)) return Take();
  if (++looks_ == kMostLooks) GiveUp(tr("there is too little to show: %1").arg(said_));
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
    QApplication::processEvents();  // Charts lay themselves out in events of their own.
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
