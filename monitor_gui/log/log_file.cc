#include "monitor_gui/log/log_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

namespace weir::monitor {
namespace {

// Bytes of a long file read at a time: their pages count as this process's memory.
constexpr qsizetype kScanned = 64 << 20;
constexpr qsizetype kKept = 16 << 20;

[[noreturn]] void Refuse(const QString& why) { throw std::runtime_error(why.toStdString()); }

}  // namespace

LogFile::LogFile(const QString& path) : file_(path) {
  if (!file_.open(QIODevice::ReadOnly)) Refuse(file_.errorString());
  const qsizetype size = file_.size();
  if (size == 0) Refuse(QObject::tr("it is empty"));
  bytes_ = reinterpret_cast<const char*>(file_.map(0, size));
  if (bytes_ == nullptr) Refuse(file_.errorString());
  qsizetype at = 0;
  for (qsizetype end = kScanned; at < size; end += kScanned) {
    const BlockScan scan = ScanBlocks(Bytes(at, std::min(end, size) - at), Check::kHeads);
    for (const Block& block : scan.blocks) {
      entries_.push_back({.head = block.head(),
                          .job = block.job(),
                          .offset = block.bytes().data() - bytes_,
                          .bytes = block.bytes().size()});
    }
    Release();
    at += scan.used;
    damaged_ += scan.damaged;
    if (end >= size) break;
  }
  damaged_ += size - at;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const qsizetype end = i + 1 < entries_.size() ? entries_[i + 1].offset : size;
    entries_[i].extent = end - entries_[i].offset;
  }
  if (entries_.empty()) Refuse(QObject::tr("it is not a run log (weirrun --record makes one)"));
}

QByteArrayView LogFile::Bytes(qsizetype offset, qsizetype bytes) const {
  return {bytes_ + offset, bytes};
}

void LogFile::Read(const Entry& entry, const std::function<void(const Block&)>& use) {
  if (const auto block = CheckedBlock(entry.head, Bytes(entry.offset, entry.bytes))) {
    use(*block);
  } else {
    // The head may promise more than was written, and other blocks follow.
    const BlockScan found = ScanBlocks(Bytes(entry.offset, entry.extent));
    damaged_ += entry.bytes;
    for (const Block& other : found.blocks) {
      damaged_ -= other.bytes().size();
      use(other);
    }
  }
  read_ += entry.extent;
  if (read_ > kKept) Release();
}

void LogFile::Release() {
  // Only advice: the system may keep some pages.
  madvise(const_cast<char*>(bytes_), static_cast<std::size_t>(file_.size()), MADV_DONTNEED);
  read_ = 0;
}

}  // namespace weir::monitor
