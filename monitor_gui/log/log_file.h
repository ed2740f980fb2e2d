#pragma once

#include <QFile>
#include <QString>
#include <functional>
#include <vector>

#include "monitor_gui/log/block.h"

namespace weir::monitor {

/// Blocks of a log on the disk, found by their heads. The file is mapped, and a body is read when
/// it is asked for: what nobody asks for is not read, and what was read does not stay in memory.
/// Not thread-safe.
class LogFile {
 public:
  struct Entry {
    BlockHead head{};  ///< So that one can choose.
    QString job{};     ///< As runs have it.
    qsizetype offset = 0;
    qsizetype bytes = 0;
    qsizetype extent = 0;  ///< Up to the next entry: where it is damaged, others may be in it.
  };

  /// Throws std::runtime_error: why it cannot be read.
  explicit LogFile(const QString& path);

  const std::vector<Entry>& entries() const { return entries_; }
  /// Shows the whole blocks of an entry, which is one unless it is damaged. They are good as long
  /// as the file is there.
  void Read(const Entry& entry, const std::function<void(const Block&)>& use);
  /// Gives the memory back that reading took; Read does so now and then.
  void Release();
  /// Bytes that turned out to be no blocks, so far.
  qsizetype damaged() const { return damaged_; }

 private:
  QByteArrayView Bytes(qsizetype offset, qsizetype bytes) const;

  QFile file_;
  const char* bytes_ = nullptr;
  std::vector<Entry> entries_;
  qsizetype damaged_ = 0;
  qsizetype read_ = 0;  // Since memory was given back.
};

}  // namespace weir::monitor
