#pragma once

#include <QObject>
#include <QString>

namespace weir::monitor {

/// Source of a run. Lives on a thread of its own, where it reads and parses, and fills a SharedRun;
/// the window learns of its state by signals.
class Source : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

 public slots:
  /// Begins. Called once.
  virtual void Start() = 0;

 signals:
  /// Reports its current activity, in a few words for the status bar.
  void Said(const QString& what);
  /// Reports that everything was read, which never happens for a live run.
  void Finished();
  /// Reports that it cannot go on: what, why, and what to do.
  void Failed(const QString& why);
};

}  // namespace weir::monitor
