#include "monitor_gui/log/block.h"

#include <zlib.h>

#include <QJsonArray>
#include <QJsonDocument>
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

/// Little-endian, as the hosts are that Weir runs on.
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

Attempt BlockAt(QByteArrayView bytes, Check check) {
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
  const QByteArray json = QByteArray::fromRawData(head.data(), head.size());
  return {Found::kBlock, Block(QJsonDocument::fromJson(json).object(), body, bytes.first(whole))};
}

}  // namespace

Block::Block(QJsonObject head, QByteArrayView body, QByteArrayView bytes)
    : head_(std::move(head)), body_(body), bytes_(bytes), rows_(head_["rows"].toInteger()) {
  qsizetype at = 0;
  const QJsonArray columns = head_["columns"].toArray();
  columns_.reserve(static_cast<std::size_t>(columns.size()));
  for (const auto& column : columns) {
    const QJsonArray pair = column.toArray();
    const QString type = pair.at(1).toString();
    const qsizetype width = type.isEmpty() ? 0 : type.back().digitValue();
    // A head may say anything: what it multiplies to may overflow.
    if (width < 0 || rows_ < 0 || at > body_.size() ||
        (width > 0 && rows_ > (body_.size() - at) / width))
      return;
    const qsizetype length = rows_ * width;
    columns_.push_back({pair.at(0).toString(), type, body_.sliced(at, length)});
    at += Padded(length);
  }
}

QString Block::job() const {
  if (kind() != "run") return {};
  const QByteArray json = QByteArray::fromRawData(text().data(), text().size());
  return QJsonDocument::fromJson(json).object()["job"].toString();
}

QByteArrayView Block::Find(const char* name, const char* type) const {
  for (const Place& column : columns_) {
    if (column.name != QLatin1StringView(name)) continue;
    return column.type == QLatin1StringView(type) ? column.bytes : QByteArrayView();
  }
  return {};
}

BlockScan ScanBlocks(QByteArrayView bytes, Check check) {
  BlockScan scan;
  while (scan.used < bytes.size()) {
    Attempt attempt = BlockAt(bytes.sliced(scan.used), check);
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
