#pragma once

#include <QByteArray>
#include <QByteArrayView>
#include <QJsonDocument>
#include <QString>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "monitor_gui/log/block_head.h"

namespace weir::monitor {

/// A block of a run log (docs/reference/run-log.md) in memory that somebody else keeps. The file
/// and the endpoint /log use the same blocks.
class Block {
 public:
  /// `body` is the block's body, `bytes` the whole block.
  Block(BlockHead head, QByteArrayView body, QByteArrayView bytes);

  const QString& kind() const { return head_.kind; }
  int rank() const { return head_.rank; }
  /// Further fields of the head.
  const BlockHead& head() const { return head_; }
  qsizetype rows() const { return head_.rows; }
  /// Returns a column's values. Empty when the block has none of this name and type.
  template <typename T>
  std::span<const T> Column(const char* name) const {
    const QByteArrayView found = Find(name, TypeName(T{}));
    return {reinterpret_cast<const T*>(found.data()),
            static_cast<std::size_t>(found.size()) / sizeof(T)};
  }
  /// Job id of a block of kind "run"; empty: not known.
  QString job() const;
  QByteArrayView text() const { return body_.first(qBound(0, text_bytes(), body_.size())); }
  /// Content of the text; null where it is not JSON.
  QJsonDocument json() const;
  /// The whole block, as it was received.
  QByteArrayView bytes() const { return bytes_; }

 private:
  static const char* TypeName(std::int64_t) { return "<i8"; }
  static const char* TypeName(std::uint64_t) { return "<u8"; }
  static const char* TypeName(std::uint32_t) { return "<u4"; }
  static const char* TypeName(float) { return "<f4"; }
  static const char* TypeName(std::uint8_t) { return "|u1"; }
  QByteArrayView Find(const char* name, const char* type) const;
  qsizetype text_bytes() const { return head_.text_bytes; }

  BlockHead head_;
  QByteArrayView body_;
  QByteArrayView bytes_;
  std::vector<QByteArrayView> columns_;  // In the head's order, as far as they lie in the body.
};

/// Result of a search for blocks.
struct BlockScan {
  std::vector<Block> blocks;  ///< The whole ones, in order.
  qsizetype used = 0;         ///< Bytes that need not be looked at again.
  qsizetype damaged = 0;      ///< Bytes of these that are not a block.
};

/// Part of a block that is checked.
enum class Check : bool {
  kAll,
  kHeads,  ///< Bodies are not read, and may be damaged.
};

/// Finds the whole blocks of a log, or of a part of one that begins at a block. `bytes` begins at
/// an address that 8 divides, and outlives the result. Skips bytes that are not a block. An
/// incomplete block stays unused. Thread-safe.
BlockScan ScanBlocks(QByteArrayView bytes, Check check = Check::kAll);

/// Returns the block of this head and these bytes, which ScanBlocks found with Check::kHeads.
/// Nothing: its body is damaged. Thread-safe.
std::optional<Block> CheckedBlock(const BlockHead& head, QByteArrayView bytes);

}  // namespace weir::monitor
