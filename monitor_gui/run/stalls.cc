#include "monitor_gui/run/stalls.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QObject>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "monitor_gui/run/run.h"

namespace weir::monitor {
namespace {

constexpr std::size_t kSentences = 3;
constexpr std::size_t kRanksNamed = 4;

QString RanksText(const std::vector<int>& ranks) {
  QStringList numbers;
  for (const int rank : ranks) {
    if (static_cast<std::size_t>(numbers.size()) < kRanksNamed) numbers += QString::number(rank);
  }
  const std::size_t more = ranks.size() - static_cast<std::size_t>(numbers.size());
  if (more > 0) return QObject::tr("ranks %1 and %2 more").arg(numbers.join(", ")).arg(more);
  return (ranks.size() == 1 ? QObject::tr("rank %1") : QObject::tr("ranks %1"))
      .arg(numbers.join(", "));
}

}  // namespace

QString StalledTensor::FullName() const {
  return process_set == 0 ? QObject::tr("'%1'").arg(name)
                          : QObject::tr("'%1' of process set %2").arg(name).arg(process_set);
}

double StalledTensor::WaitedSeconds(std::int64_t now_ns) const {
  return static_cast<double>(std::max<std::int64_t>(now_ns - since_ns, 0)) * 1e-9;
}

Stalls ParseStalls(const Block& block, std::int64_t epoch_ns) {
  const QJsonObject said = block.json().object();
  Stalls stalls{.time_ns = said["time_ns"].toInteger() + epoch_ns,
                .tensors = {},
                .left_out = said["left_out"].toInt()};
  const QJsonArray tensors = said["tensors"].toArray();
  for (const auto& value : tensors) {
    const QJsonObject of = value.toObject();
    const auto waited_ns = std::llround(of["waited_seconds"].toDouble() * 1e9);
    StalledTensor tensor{.name = of["name"].toString(),
                         .process_set = of["process_set"].toInt(),
                         .since_ns = stalls.time_ns - waited_ns,
                         .missing = {}};
    const QJsonArray missing = of["missing_ranks"].toArray();
    for (const auto& rank : missing) tensor.missing.push_back(rank.toInt());
    stalls.tensors.push_back(std::move(tensor));
  }
  return stalls;
}

const Stalls& StallsAt(const Run& run, std::int64_t time_ns) {
  static const Stalls kNone;
  const auto rank_0 = run.ranks().find(0);
  if (rank_0 == run.ranks().end()) return kNone;
  const auto& said = rank_0->second.stalls();
  const auto behind = std::ranges::upper_bound(said, time_ns, {}, &Stalls::time_ns);
  return behind == said.begin() ? kNone : *std::prev(behind);
}

QStringList SentencesOf(const Stalls& stalls, std::int64_t now_ns) {
  QStringList sentences;
  for (const StalledTensor& tensor : stalls.tensors) {
    if (static_cast<std::size_t>(sentences.size()) == kSentences) break;
    sentences += QObject::tr("%1 has waited %2 for %3")
                     .arg(tensor.FullName(), ShortSeconds(tensor.WaitedSeconds(now_ns)),
                          RanksText(tensor.missing));
  }
  const auto more = static_cast<qsizetype>(stalls.tensors.size()) - sentences.size();
  if (more + stalls.left_out > 0) {
    sentences += (more + stalls.left_out == 1 ? QObject::tr("so has %1 more tensor")
                                              : QObject::tr("so have %1 more tensors"))
                     .arg(more + stalls.left_out);
  }
  return sentences;
}

QString ShortSeconds(double seconds) {
  return QObject::tr("%1 s").arg(seconds, 0, 'f', seconds < 10 ? 1 : 0);
}

}  // namespace weir::monitor
