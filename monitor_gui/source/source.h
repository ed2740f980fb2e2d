#pragma once

#include <QObject>
#include <QString>

namespace weir::monitor {

/// Where a run comes from. Lives on a thread of its own, where it reads and parses, and fills a
/// SharedRun; the window learns of its state by signals.
class Source : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

 public slots:
  /// Begins. Once.
  virtual void Start() = 0;

 signals:
  /// What it is doing, in a few words for the status bar.
  void Said(const QString& what);
  /// All that there is was read, which a live run never has.
  void Finished();
  /// It cannot go on: what, why, and what to do.
  void Failed(const QString& why);
};

}  // namespace weir::monitor
