#include "monitor_gui/window/session.h"

#include <QUrl>

#include "monitor_gui/source/file_source.h"
#include "monitor_gui/source/live_source.h"
#include "monitor_gui/window/demo.h"

namespace weir::monitor {

bool Session::IsUrl(const QString& place) {
  return place.startsWith("http://") || place.startsWith("https://");
}

Session::Session(const QString& place, const QString& token)
    : place_(place), is_live_(IsUrl(place)) {
  if (is_live_) {
    auto* live = new LiveSource(QUrl(place), token, run_);
    connect(live, &LiveSource::RecordingEnded, this, &Session::RecordingEnded);
    source_ = live;
  } else if (place == kDemoPlace) {
    demo_folder_ = std::make_unique<QTemporaryDir>();
    source_ = new FileSource(WriteDemo(demo_folder_->path()), run_);
  } else {
    source_ = new FileSource(place, run_);
  }
  source_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, source_, &QObject::deleteLater);
  connect(source_, &Source::Said, this, [this](const QString& what) {
    emit Said(
        is_demo()
            ? tr("A recording of examples/03-char-transformer on 4 hosts, with compression=auto")
            : what);
  });
  connect(source_, &Source::Finished, this, &Session::Finished);
  connect(source_, &Source::Failed, this, &Session::Failed);
}

Session::~Session() {
  thread_.requestInterruption();
  thread_.quit();
  thread_.wait();
}

void Session::Start() {
  thread_.start();
  QMetaObject::invokeMethod(source_, &Source::Start);
}

void Session::Record(const QString& path) {
  auto* const live = qobject_cast<LiveSource*>(source_);
  if (live != nullptr) QMetaObject::invokeMethod(live, [live, path] { live->Record(path); });
}

void Session::StopRecording() {
  auto* const live = qobject_cast<LiveSource*>(source_);
  if (live != nullptr) QMetaObject::invokeMethod(live, &LiveSource::StopRecording);
}

}  // namespace weir::monitor
