#include "coordinator/groups/group_planning.h"

#include <algorithm>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

bool HasAlternatives(const GroupPlan& plan) {
  return std::ranges::any_of(plan.variants,
                             [](const Variant& variant) { return !variant.alternatives.empty(); });
}

}  // namespace

GroupPlanning::GroupPlanning(Coordinator& coordinator, ProcessSet& set,
                             const GradientGroupSpec& spec, const GroupPlan& plan)
    : coordinator_(coordinator),
      set_(set),
      spec_(spec),
      plan_(plan),
      plans_(HasAlternatives(plan) && coordinator.rank() == set.ranks().front()),
      now_(plan.plan.buckets.size(), BucketForm::kCompressed) {
  if (!plans_) return;
  pinned_ = coordinator.plan_file().PinnedOf(spec.name + set.Suffix());
  for (const PlannedForms& pinned : pinned_) {
    try {
      Parse(pinned.forms);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("WEIR_PLAN_FILENAME '" + coordinator.settings().plan_filename +
                            "' does not suit '" + spec.name + "' from step " +
                            std::to_string(pinned.from_step) + " on: " + error.what());
    }
  }
}

bool GroupPlanning::IsAllowed(std::size_t bucket, BucketForm form) const {
  const auto& alternatives = plan_.variants[plan_.VariantOfBucket(bucket)].alternatives;
  return form == BucketForm::kCompressed ||
         std::ranges::find(alternatives, form) != alternatives.end();
}

StepPlan GroupPlanning::Parse(const std::string& forms) const {
  StepPlan plan = ParseForms(forms, now_.size());
  for (std::size_t b = 0; b < plan.size(); ++b) {
    if (IsAllowed(b, plan[b])) continue;
    throw InvalidArgument("a plan of '" + spec_.name + "' has the form " +
                          std::string(Name(plan[b])) + " for its bucket '" + plan_.NameOfBucket(b) +
                          "', whose options do not have it among their \"alternatives\"");
  }
  return plan;
}

void GroupPlanning::Begin(std::int64_t step) {
  // All ranks have agreed on buckets of the step before meanwhile, and heard of the plan first.
  if (told_ != kNoHandle) coordinator_.WaitIfKnown(std::exchange(told_, kNoHandle));
  const std::lock_guard lock(mutex_);
  for (; !next_.empty() && next_.front().from_step <= step; next_.pop_front()) {
    now_ = std::move(next_.front().plan);
  }
}

void GroupPlanning::PlanNext(std::int64_t step) {
  for (const PlannedForms& pinned : pinned_) {
    if (pinned.from_step == step + 1) return Tell(step + 1, Parse(pinned.forms));
  }
}

void GroupPlanning::Tell(std::int64_t from_step, const StepPlan& plan) {
  Submission submission;
  submission.request = {
      .kind = RequestKind::kPlan,
      .name = StepRequestName(RequestKind::kPlan, spec_.name),
      .settings = {{Request::kStep, std::to_string(from_step)}, {Request::kForms, FormsText(plan)}},
      .slots = 0};
  told_ = coordinator_.Submit(set_, std::move(submission));
  if (pinned_.empty()) {
    coordinator_.plan_file().Add(spec_.name + set_.Suffix(), {from_step, FormsText(plan)});
  }
}

void GroupPlanning::OnPlanned(std::int64_t from_step, const std::string& forms) {
  const std::lock_guard lock(mutex_);
  try {
    next_.emplace_back(from_step, Parse(forms));
  } catch (const InvalidArgument& error) {
    throw Corrupt(error.what(), {spec_.name, {}, "negotiate"});
  }
}

void GroupPlanning::Forget() {
  const std::lock_guard lock(mutex_);
  next_.clear();
}

}  // namespace weir
