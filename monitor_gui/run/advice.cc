#include "monitor_gui/run/advice.h"

#include <QObject>
#include <algorithm>
#include <optional>

#include "monitor_gui/run/plans.h"

namespace weir::monitor {
namespace {

using Weight = Advice::Weight;

constexpr double kExposed = 0.3;    // Part of a step that is worth a word.
constexpr double kDense = 2.0;      // A wire ratio below: nothing much is saved.
constexpr double kAboveTarget = 2;  // Times as many entries as configured.
constexpr double kGrows = 4;        // Times the threshold of half as many steps.
constexpr std::int64_t kLeastSteps = 40;

int PercentOf(double part) { return qRound(100 * part); }

/// Where the gradients travel dense, or nearly so, there is more to gain from compression.
QString HowToSendLess(const Run& run, const Summary& summary, const Moment& at) {
  const auto plans = PlansAt(run, at);
  const bool is_planned = std::ranges::any_of(
      plans, [](const GroupPlan* plan) { return plan->by == GroupPlan::By::kMeasurement; });
  if (std::ranges::any_of(plans, [](const GroupPlan* plan) { return !plan->settled; })) {
    return QObject::tr("a search for the fastest plan is under way");
  }
  if (summary.wire_ratio >= kDense) {
    return QObject::tr("compress more (a lower density), or take larger batches");
  }
  return is_planned ? QObject::tr("larger batches hide more of it; compressing was no faster")
                    : QObject::tr("compression=auto finds out what sending less would gain");
}

void AdviseOnSlowRank(const Run& run, const Summary& summary, std::vector<Advice>& advice) {
  if (!summary.slowest_rank || summary.slowest_excess <= Summary::kSlow) return;
  const auto rank = run.ranks().find(*summary.slowest_rank);
  const QString host = rank == run.ranks().end() ? QString() : rank->second.host();
  advice.push_back(
      {.weight = Weight::kWarning,
       .text = QObject::tr("Rank %1 works %2 % longer at a step than the median rank, and all wait "
                           "for it: look at %3.")
                   .arg(*summary.slowest_rank)
                   .arg(PercentOf(summary.slowest_excess))
                   .arg(host.isEmpty() ? QObject::tr("its host")
                                       : QObject::tr("its host, %1").arg(host)),
       .page = "ranks"});
}

void AdviseOnExchange(const Run& run, const Summary& summary, const Moment& at,
                      std::vector<Advice>& advice) {
  if (summary.exposed_communication <= kExposed) return;
  advice.push_back({.weight = Weight::kHint,
                    .text = QObject::tr("The exchange is exposed for %1 % of a step: %2.")
                                .arg(PercentOf(summary.exposed_communication))
                                .arg(HowToSendLess(run, summary, at)),
                    .page = "lanes"});
}

void AdviseOnCompression(const Summary& summary, std::vector<Advice>& advice) {
  if (summary.exposed_compression <= Summary::kCostly) return;
  advice.push_back(
      {.weight = Weight::kWarning,
       .text = QObject::tr("Steps wait for compression for %1 % of their time: take a compressor "
                           "that works less, or none (compression=auto would find out).")
                   .arg(PercentOf(summary.exposed_compression)),
       .page = "decisions"});
}

/// The mean threshold of the layers' entries at a step; nothing: none had one then.
std::optional<double> ThresholdAt(const Run& run, std::int64_t step) {
  double sum = 0;
  double entries = 0;
  const LayerHistory& layers = run.layers();
  const std::int64_t column = (step - layers.first_step()) / layers.steps_per_column();
  if (column < 0) return std::nullopt;
  const auto cells = layers.Cells(Metric::kThreshold, static_cast<int>(column));
  for (std::size_t layer = 0; layer < cells.size(); ++layer) {
    if (cells[layer].count == 0) continue;
    const auto weight = static_cast<double>(layers.layers()[layer].elements);
    sum += weight * static_cast<double>(cells[layer].mean());
    entries += weight;
  }
  return entries > 0 ? std::optional(sum / entries) : std::nullopt;
}

/// A threshold that goes on growing at one density: what is kept back is not caught up with.
void AdviseOnWarmUp(const Run& run, const Summary& summary, std::vector<Advice>& advice) {
  if (run.ranks().empty() || summary.step < kLeastSteps) return;
  const std::int64_t before = summary.step / 2;
  const RankRun& rank = run.ranks().begin()->second;
  const auto density = [&](std::int64_t step) {
    const auto rows = rank.StepsUntil(step, 1);
    return rows.empty() ? 0.0f : rows.back().target_density;
  };
  if (density(before) != density(summary.step)) return;
  const auto then = ThresholdAt(run, before);
  const auto now = ThresholdAt(run, summary.step);
  if (!then || !now || *now < kGrows * *then) return;
  advice.push_back(
      {.weight = Weight::kWarning,
       .text = QObject::tr("The threshold from which entries are sent is %1 times that of step %2: "
                           "warm up for longer, or lower the learning rate.")
                   .arg(*now / *then, 0, 'g', 2)
                   .arg(before),
       .page = "sparsity"});
}

}  // namespace

std::vector<Advice> AdviceOf(const Run& run, const Summary& summary, const Moment& at) {
  std::vector<Advice> advice;
  if (summary.step < 0) return advice;
  // Figures of a step have sentences of their own, which say what to do.
  const bool is_bad = summary.health == Summary::Health::kBad;
  for (const QString& trouble : summary.events) {
    advice.push_back({.weight = is_bad ? Weight::kBad : Weight::kWarning,
                      .text = trouble.left(1).toUpper() + trouble.mid(1) + ".",
                      .page = "ranks"});
  }
  AdviseOnSlowRank(run, summary, advice);
  AdviseOnCompression(summary, advice);
  AdviseOnWarmUp(run, summary, advice);
  AdviseOnExchange(run, summary, at, advice);
  if (!advice.empty()) return advice;
  return {{.weight = Weight::kGood,
           .text = QObject::tr("Nothing stands out: %1 % of a step is exposed, and no rank is far "
                               "behind the others.")
                       .arg(PercentOf(summary.exposed_communication + summary.exposed_compression)),
           .page = {}}};
}

}  // namespace weir::monitor
