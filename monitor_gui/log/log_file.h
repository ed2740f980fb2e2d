#pragma once

#include <QFile>
#include <QString>
#include <functional>
#include <vector>

#include "monitor_gui/log/block.h"

namespace weir::monitor {

/// Blocks of a log on the disk, found by their heads. The file is
/// mapped, and a body is read only when it is asked for, so that
/// memory stays small. Not thread-safe.
class LogFile {
 public:
  struct Entry {
    BlockHead head{};  ///< For choosing.
    QString job{};     ///< Job id of the run.
    qsizetype offset = 0;
    qsizetype bytes = 0;
    qsizetype extent = 0;  ///< Up to the next entry: a damaged one may contain others.
  };

  /// Throws std::runtime_error that says why it cannot be read.
  explicit LogFile(const QString& path);

  const std::vector<Entry>& entries() const { return entries_; }
  /// Shows the whole blocks of an entry, which is one unless it is damaged. They
  /// are valid as long as this object.
  void Read(const Entry& entry, const std::function<void(const Block&)>& use);
  /// Gives back the memory that reading took; Read does so now and then.
  void Release();
  /// Number of bytes found so far that are not blocks.
  qsizetype damaged() const { return damaged_; }

 private:
  QByteArrayView Bytes(qsizetype offset, qsizetype bytes) const;

  QFile file_;
  const char* bytes_ = nullptr;
  std::vector<Entry> entries_;
  qsizetype damaged_ = 0;
  qsizetype read_ = 0;  // Bytes since memory was given back.
};

}  // namespace weir::monitor
