#include "monitor_gui/log/block_head.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <utility>

namespace weir::monitor {
namespace {

constexpr qsizetype kMostKnown = 256;
constexpr char kBegin[] = ",\"columns\":";

QJsonObject Parse(QByteArrayView json) {
  return QJsonDocument::fromJson(QByteArray::fromRawData(json.data(), json.size())).object();
}

std::shared_ptr<const BlockHead::Columns> ColumnsOf(const QJsonObject& head) {
  auto columns = std::make_shared<BlockHead::Columns>();
  const QJsonArray pairs = head["columns"].toArray();
  for (const auto& value : pairs) {
    const QJsonArray pair = value.toArray();
    const QString type = pair.at(1).toString();
    columns->push_back({.name = pair.at(0).toString(),
                        .type = type,
                        .width = type.isEmpty() ? 0 : type.back().digitValue()});
  }
  return columns;
}

BlockHead HeadOf(const QJsonObject& head, std::shared_ptr<const BlockHead::Columns> columns) {
  return {.kind = head["kind"].toString(),
          .rank = head["rank"].toInt(-1),
          .number = head["number"].toInteger(),
          .rows = head["rows"].toInteger(),
          .text_bytes = head["text_bytes"].toInteger(),
          .lost = head["lost"].toInteger(),
          .blocks = head["blocks"].toInteger(),
          .columns = std::move(columns)};
}

}  // namespace

BlockHead HeadReader::Read(QByteArrayView json) {
  // The engine writes columns last. In another order, one of
  // the two parts is not an object.
  const qsizetype at = json.indexOf(kBegin);
  if (at >= 0) {
    const QByteArray text = json.sliced(at + 1).toByteArray();
    auto known = columns_.constFind(text);
    if (known == columns_.constEnd()) {
      const QJsonObject last = Parse("{" + text);
      if (last.size() == 1 && columns_.size() < kMostKnown)
        known = columns_.insert(text, ColumnsOf(last));
    }
    const QJsonObject first = Parse(json.first(at).toByteArray() + "}");
    if (known != columns_.constEnd() && !first.isEmpty()) return HeadOf(first, *known);
  }
  const QJsonObject whole = Parse(json);
  return HeadOf(whole, ColumnsOf(whole));
}

}  // namespace weir::monitor
