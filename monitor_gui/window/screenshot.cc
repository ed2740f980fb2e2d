#include "monitor_gui/window/screenshot.h"

#include <QApplication>
#include <algorithm>
#include <cstdio>

namespace weir::monitor {
namespace {

constexpr int kLookMs = 250;
constexpr int kMostLooks = 120;  // Half a minute.
constexpr int kLooksAtNobody = 20;
constexpr std::size_t kSteps = 8;  // Of a live run, before it is worth a picture.

}  // namespace

Screenshot::Screenshot(MainWindow& window, QString path, std::optional<std::int64_t> step)
    : window_(window), path_(std::move(path)), step_(step) {
  for (Session* session : {&window.session(), window.other_session()}) {
    if (session == nullptr) continue;
    const std::size_t index = sources_.size();
    sources_.push_back({.session = session, .said = {}});
    if (!session->is_live()) ++unread_;
    connect(session, &Session::Finished, this, [this] { --unread_; });
    connect(session, &Session::Failed, this, &Screenshot::GiveUp);
    connect(session, &Session::Said, this,
            [this, index](const QString& what) { sources_[index].said = what; });
  }
  connect(&timer_, &QTimer::timeout, this, &Screenshot::Look);
  timer_.start(kLookMs);
}

void Screenshot::Look() {
  bool is_enough = unread_ == 0;
  bool is_there = true;
  for (const Source& source : sources_) {
    if (!source.session->is_live()) continue;
    source.session->run().Read([&](const Run& run) {
      const auto has_steps = [](const auto& rank) { return rank.second.steps().size() >= kSteps; };
      is_there = is_there && !run.ranks().empty();
      is_enough = is_enough && !run.ranks().empty() && std::ranges::all_of(run.ranks(), has_steps);
    });
  }
  if (is_enough) return Take();
  if (++looks_ == (is_there ? kMostLooks : kLooksAtNobody)) {
    QStringList said;
    for (const Source& source : sources_) said += source.said;
    GiveUp(tr("there is too little to show: %1").arg(said.join("; ")));
  }
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
