#include "monitor_gui/run/comparison.h"

#include <QObject>
#include <unordered_map>

namespace weir::monitor {
namespace {

constexpr qsizetype kMostNamed = 3;

QString Named(const QStringList& names) {
  const QString some = names.first(qMin(names.size(), kMostNamed)).join(", ");
  return names.size() <= kMostNamed
             ? some
             : QObject::tr("%1 and %2 more").arg(some).arg(names.size() - kMostNamed);
}

void SayOnlyIn(const QString& run, const QStringList& names, QStringList& sentences) {
  if (names.isEmpty()) return;
  sentences += QObject::tr("Only in %1: %2.").arg(run, Named(names));
}

}  // namespace

std::vector<ComparedLayer> CompareLayers(const LayerHistory& a, const LayerHistory& b) {
  std::unordered_map<QString, std::size_t> by_name;
  for (std::size_t layer = 0; layer < b.layers().size(); ++layer)
    by_name.emplace(b.layers()[layer].name, layer);
  std::vector<ComparedLayer> compared;
  for (std::size_t layer = 0; layer < a.layers().size(); ++layer) {
    ComparedLayer& both = compared.emplace_back(ComparedLayer{.in_a = layer, .in_b = {}});
    const auto found = by_name.find(a.layers()[layer].name);
    if (found == by_name.end()) continue;
    both.in_b = found->second;
    by_name.erase(found);
  }
  for (std::size_t layer = 0; layer < b.layers().size(); ++layer) {
    if (by_name.contains(b.layers()[layer].name))
      compared.push_back({.in_a = std::nullopt, .in_b = layer});
  }
  return compared;
}

QStringList DescribeFit(const Run& a, const Run& b) {
  QStringList sentences;
  if (a.ranks().size() != b.ranks().size()) {
    sentences +=
        QObject::tr("A has %1 ranks, B has %2.").arg(a.ranks().size()).arg(b.ranks().size());
  }
  QStringList only_a;
  QStringList only_b;
  std::size_t both = 0;
  for (const ComparedLayer& layer : CompareLayers(a.layers(), b.layers())) {
    if (!layer.in_b) {
      only_a += a.layers().layers()[*layer.in_a].name;
    } else if (!layer.in_a) {
      only_b += b.layers().layers()[*layer.in_b].name;
    } else {
      ++both;
    }
  }
  if (only_a.isEmpty() && only_b.isEmpty()) return sentences;
  sentences += QObject::tr("%1 layers are in both.").arg(both);
  SayOnlyIn("A", only_a, sentences);
  SayOnlyIn("B", only_b, sentences);
  return sentences;
}

}  // namespace weir::monitor
