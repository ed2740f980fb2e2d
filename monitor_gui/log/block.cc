#include "monitor_gui/log/block.h"

#include <zlib.h>

#include <QJsonValue>
#include <cstring>
#include <optional>

namespace weir::monitor {
namespace {

constexpr qsizetype kPrefixBytes = 32;
constexpr qsizetype kCheckedPrefixBytes = 20;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kLongestHead = 1 << 20;
constexpr char kMagic[] = "WLOG";

qsizetype Padded(qsizetype bytes) { return (bytes + 7) / 8 * 8; }

std::uint32_t Crc32(QByteArrayView bytes, std::uint32_t crc = 0) {
  if (bytes.isEmpty()) return crc;
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()),
                                            static_cast<std::size_t>(bytes.size())));
}

/// Little-endian, like Weir's hosts.
struct Prefix {
  char magic[4];
  std::uint32_t version;
  std::uint32_t head_bytes;
  std::uint32_t body_bytes;
  std::uint32_t body_crc;
  std::uint32_t head_crc;
  std::uint64_t zero;
};
static_assert(sizeof(Prefix) == kPrefixBytes);

enum class Found { kBlock, kNotWholeYet, kNone };

struct Attempt {
  Found found = Found::kNone;
  std::optional<Block> block{};
};

Attempt BlockAt(QByteArrayView bytes, Check check, HeadReader& heads) {
  Prefix prefix;
  if (bytes.size() < kPrefixBytes) {
    const qsizetype known = qMin<qsizetype>(bytes.size(), 4);
    const bool may_be = std::memcmp(bytes.data(), kMagic, static_cast<std::size_t>(known)) == 0;
    return {may_be ? Found::kNotWholeYet : Found::kNone};
  }
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  const bool begins = std::memcmp(prefix.magic, kMagic, 4) == 0 && prefix.version == kVersion &&
                      prefix.head_bytes <= kLongestHead && prefix.head_bytes % 8 == 0 &&
                      prefix.body_bytes % 8 == 0;
  if (!begins) return {};
  const qsizetype head_bytes = prefix.head_bytes;
  const qsizetype whole = kPrefixBytes + head_bytes + prefix.body_bytes;
  if (bytes.size() < kPrefixBytes + head_bytes) return {Found::kNotWholeYet};
  const QByteArrayView head = bytes.sliced(kPrefixBytes, head_bytes);
  if (Crc32(head, Crc32(bytes.first(kCheckedPrefixBytes))) != prefix.head_crc) return {};
  if (bytes.size() < whole) return {Found::kNotWholeYet};
  const QByteArrayView body = bytes.sliced(kPrefixBytes + head_bytes, prefix.body_bytes);
  if (check == Check::kAll && Crc32(body) != prefix.body_crc) return {};
  return {Found::kBlock, Block(heads.Read(head), body, bytes.first(whole))};
}

}  // namespace

Block::Block(BlockHead head, QByteArrayView body, QByteArrayView bytes)
    : head_(std::move(head)), body_(body), bytes_(bytes) {
  if (head_.columns == nullptr) return;
  qsizetype at = 0;
  columns_.reserve(head_.columns->size());
  for (const auto& [name, type, width] : *head_.columns) {
    // A head may contain any numbers: their product may overflow.
    if (width < 0 || rows() < 0 || at > body_.size() ||
        (width > 0 && rows() > (body_.size() - at) / width))
      return;
    const qsizetype length = rows() * width;
    columns_.push_back(body_.sliced(at, length));
    at += Padded(length);
  }
}

QString Block::job() const { return kind() == "run" ? json()["job"].toString() : QString(); }

QJsonDocument Block::json() const {
  return QJsonDocument::fromJson(QByteArray::fromRawData(text().data(), text().size()));
}

QByteArrayView Block::Find(const char* name, const char* type) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const BlockHead::Column& column = (*head_.columns)[i];
    if (column.name != QLatin1StringView(name)) continue;
    return column.type == QLatin1StringView(type) ? columns_[i] : QByteArrayView();
  }
  return {};
}

std::optional<Block> CheckedBlock(const BlockHead& head, QByteArrayView bytes) {
  Prefix prefix;
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  // The file may have changed since.
  if (kPrefixBytes + qsizetype{prefix.head_bytes} + qsizetype{prefix.body_bytes} != bytes.size()) {
    return std::nullopt;
  }
  const QByteArrayView body = bytes.last(prefix.body_bytes);
  if (Crc32(body) != prefix.body_crc) return std::nullopt;
  return Block(head, body, bytes);
}

BlockScan ScanBlocks(QByteArrayView bytes, Check check) {
  BlockScan scan;
  HeadReader heads;
  while (scan.used < bytes.size()) {
    Attempt attempt = BlockAt(bytes.sliced(scan.used), check, heads);
    if (attempt.found == Found::kNotWholeYet) break;
    if (attempt.found == Found::kBlock) {
      scan.used += attempt.block->bytes().size();
      scan.blocks.push_back(std::move(*attempt.block));
      continue;
    }
    // Blocks begin at multiples of 8.
    qsizetype next = scan.used + 8;
    while (next + 4 <= bytes.size() && std::memcmp(bytes.data() + next, kMagic, 4) != 0) next += 8;
    next = qMin(next, bytes.size());
    scan.damaged += next - scan.used;
    scan.used = next;
  }
  return scan;
}

}  // namespace weir::monitor
