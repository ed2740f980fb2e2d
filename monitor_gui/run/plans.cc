#include "monitor_gui/run/plans.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QObject>
#include <algorithm>
#include <map>
#include <utility>

#include "monitor_gui/run/moment.h"
#include "monitor_gui/run/run.h"

namespace weir::monitor {
namespace {

std::optional<double> Known(const QJsonValue& value) {
  return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

GroupPlan::By ByOf(const QString& name) {
  if (name == "measurement") return GroupPlan::By::kMeasurement;
  return name == "file" ? GroupPlan::By::kFile : GroupPlan::By::kOptions;
}

GroupPlan::Considered ConsideredOf(const QJsonObject& of) {
  return {.what = of["what"].toString(),
          .chosen = of["chosen"].toBool(),
          .bytes_seconds = Known(of["bytes_seconds"]),
          .predicted_seconds = Known(of["predicted_seconds"]),
          .measured_seconds = Known(of["measured_seconds"]),
          .not_tried = of["not_tried"].toString(),
          .steps = of["steps"].toInt()};
}

GroupPlan::Bucket BucketOf(const QJsonObject& of) {
  GroupPlan::Bucket bucket{.name = of["name"].toString(), .form = of["form"].toString()};
  const QJsonObject work = of["work_seconds"].toObject();
  for (auto form = work.begin(); form != work.end(); ++form)
    bucket.work.push_back({.form = form.key(), .seconds = Known(form.value())});
  return bucket;
}

bool SameForms(const GroupPlan& one, const GroupPlan& other) {
  return std::ranges::equal(one.buckets, other.buckets, {}, &GroupPlan::Bucket::form,
                            &GroupPlan::Bucket::form);
}

PlanChange ChangeOf(const GroupPlan& plan, const GroupPlan* before) {
  PlanChange change{.step = plan.from_step,
                    .group = plan.group,
                    .what = plan.what,
                    .is_form = before == nullptr || !SameForms(plan, *before),
                    .settled = plan.settled};
  if (!plan.settled) {
    change.what = QObject::tr("tries %1").arg(plan.what);
  } else if (plan.by == GroupPlan::By::kMeasurement) {
    change.what = QObject::tr("chooses %1").arg(plan.what);
  } else if (before != nullptr) {
    change.what = QObject::tr("%1 → %2").arg(before->what, plan.what);
  }
  return change;
}

QString WhyNotTried(const GroupPlan::Considered& one) {
  if (one.not_tried == "bytes") return QObject::tr("not tried: its bytes alone take too long");
  if (one.not_tried == "seen_before")
    return QObject::tr("not tried: an earlier search saw it slow");
  if (one.not_tried == "enough_tried") return QObject::tr("not tried: enough others were");
  return QObject::tr("not tried");
}

}  // namespace

std::optional<double> GroupPlan::Bucket::WorkIn(const QString& other_form) const {
  const auto found = std::ranges::find(work, other_form, &Work::form);
  return found == work.end() ? std::nullopt : found->seconds;
}

QString GroupPlan::Bucket::Why(const GroupPlan& plan) const {
  if (plan.by == By::kFile) return QObject::tr("file of plans");
  if (plan.by == By::kOptions) return QObject::tr("options");
  if (work.size() == 1) return QObject::tr("nothing else allowed");
  if (!plan.settled) return QObject::tr("being tried");
  return QObject::tr("fastest when tried");
}

const GroupPlan::Bucket* GroupPlan::Find(const QString& recorded_name) const {
  const auto found = std::ranges::find_if(buckets, [&](const Bucket& bucket) {
    return recorded_name == group + "/" + bucket.name || recorded_name == bucket.name;
  });
  return found == buckets.end() ? nullptr : &*found;
}

QString GroupPlan::Sentence() const {
  if (by == By::kOptions && why.contains("as told")) {
    return QObject::tr("Compression is fixed: %1. compression=auto would choose.").arg(what);
  }
  if (!settled) {
    return QObject::tr(
               "Trying %1 since step %2: a search measures some steps of each plan that may "
               "be good, and keeps the fastest.")
        .arg(what)
        .arg(from_step);
  }
  const QString since = QObject::tr("%1 since step %2").arg(what).arg(from_step);
  const bool repeats = why.startsWith(what + ": ") || why.startsWith(what + ", ");
  return repeats ? since + why.mid(what.size()) : QObject::tr("%1, %2").arg(since, why);
}

QString GroupPlan::OutcomeOf(const Considered& one) const {
  if (one.chosen) return QObject::tr("chosen");
  if (!one.measured_seconds) return WhyNotTried(one);
  const auto chosen = std::ranges::find(considered, true, &Considered::chosen);
  if (chosen == considered.end() || chosen->measured_seconds.value_or(0) <= 0) return {};
  const int percent = qRound(100 * (*one.measured_seconds / *chosen->measured_seconds - 1));
  if (percent > 0) return QObject::tr("%1 % slower").arg(percent);
  return QObject::tr("as fast, but changes more of what is trained");
}

GroupPlan ParsePlan(const Block& block, std::int64_t epoch_ns) {
  const QJsonObject said = block.json().object();
  GroupPlan plan{.time_ns = said["time_ns"].toInteger() + epoch_ns,
                 .group = said["group"].toString(),
                 .from_step = said["from_step"].toInteger(),
                 .by = ByOf(said["by"].toString()),
                 .settled = said["settled"].toBool(),
                 .what = said["what"].toString(),
                 .why = said["why"].toString(),
                 .network_bytes_per_second = Known(said["network_bytes_per_second"])};
  const QJsonArray considered = said["considered"].toArray();
  for (const auto& one : considered) plan.considered.push_back(ConsideredOf(one.toObject()));
  const QJsonArray buckets = said["buckets"].toArray();
  for (const auto& bucket : buckets) plan.buckets.push_back(BucketOf(bucket.toObject()));
  return plan;
}

std::vector<const GroupPlan*> PlansAt(const Run& run, const Moment& at) {
  std::vector<const GroupPlan*> plans;
  for (const auto& [rank, known] : run.ranks()) {
    const std::size_t others = plans.size();  // Of ranks that plan for other groups.
    for (const GroupPlan& plan : known.plans()) {
      if (plan.from_step > at.step) continue;
      const auto of_group =
          std::find_if(plans.begin() + static_cast<std::ptrdiff_t>(others), plans.end(),
                       [&](const GroupPlan* one) { return one->group == plan.group; });
      if (of_group == plans.end()) {
        plans.push_back(&plan);
      } else {
        *of_group = &plan;
      }
    }
  }
  return plans;
}

const GroupPlan* LastSearch(const Run& run, const GroupPlan& until) {
  const GroupPlan* last = nullptr;
  for (const auto& [rank, known] : run.ranks()) {
    for (const GroupPlan& plan : known.plans()) {
      const bool is_search = plan.group == until.group && !plan.considered.empty();
      if (is_search && plan.time_ns <= until.time_ns) last = &plan;
    }
  }
  return last;
}

std::vector<PlanChange> PlanChangesOf(const Run& run) {
  std::vector<PlanChange> changes;
  for (const auto& [rank, known] : run.ranks()) {
    std::map<QString, const GroupPlan*> before;
    for (const GroupPlan& plan : known.plans())
      changes.push_back(ChangeOf(plan, std::exchange(before[plan.group], &plan)));
  }
  std::ranges::stable_sort(changes, {}, &PlanChange::step);
  return changes;
}

}  // namespace weir::monitor
