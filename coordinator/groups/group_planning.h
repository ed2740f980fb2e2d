#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/groups/agreed_plans.h"
#include "coordinator/groups/allowed_forms.h"
#include "coordinator/groups/gradient_bucket.h"
#include "coordinator/groups/network_probe.h"
#include "coordinator/plan/explain_forms.h"
#include "coordinator/plan/form_tuner.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/plan/plan_file.h"
#include "coordinator/plan/step_plan.h"
#include "coordinator/rank/coordinator.h"
#include "weir/error.h"
#include "weir/gradient_group.h"

namespace weir {

/// How a group's buckets travel from step to step, if their options have alternatives: the set's
/// first rank plans, and tells all.
///
/// OnTold may meet the others, which belong to the thread of the group's steps.
class GroupPlanning {
 public:
  /// Keeps its arguments, which must outlive it.
  GroupPlanning(Coordinator& coordinator, ProcessSet& set, const GradientGroupSpec& spec,
                const GroupPlan& plan);
  ~GroupPlanning();
  GroupPlanning(const GroupPlanning&) = delete;
  GroupPlanning& operator=(const GroupPlanning&) = delete;

  /// What the ranks must agree on when they register, by name: the forms that buckets may have; on
  /// a rank whose file of plans does not suit the group, that. Empty if there are no alternatives.
  std::vector<std::pair<std::string, std::string>> ToAgreeOn() const;
  /// Throws InvalidArgument if this rank has such a file. After the registration has failed.
  void ThrowIfUnsuited() const;

  /// Takes over what is planned for the step, before its routes are chosen. An `empty` one may
  /// still turn out not to be taken.
  void Begin(std::int64_t step, bool empty = false);
  /// Notes that the empty step was taken.
  void EndEmpty(std::int64_t step);
  BucketForm FormOf(std::size_t bucket) const { return agreed_.now()[bucket]; }
  std::uint32_t epoch() const { return agreed_.epoch(); }
  /// Plans the step after the one that begins, on the rank that plans. Call it before the step's
  /// first bucket can be agreed on.
  void PlanNext(std::int64_t step);
  /// Notes the step, which ended at `end_ns`; `skipped`: its gradients were not exchanged.
  void End(std::int64_t step, bool skipped,
           std::span<const std::unique_ptr<GradientBucket>> buckets, std::int64_t end_ns);
  /// Waits for a measurement that has begun, and ends a search: the other ranks go on without this
  /// one, and must not stay in a plan that was only to be tried.
  void BeforeJoin(std::int64_t next_step);
  void OnTold(const ToldPlan& told) { agreed_.OnTold(told); }
  /// Tells what a file has for the step that a state is loaded of. Before the ranks agree on it.
  void BeforeLoading(std::int64_t step);
  /// Takes over in the next step, which is this one now, what was told: all ranks have heard the
  /// same.
  void OnLoaded(std::int64_t step);

 private:
  /// Begins to plan.
  void Prepare();
  /// Reads what the file says. Throws InvalidArgument for plans that do not suit the group.
  void ReadFile();
  const PlannedForms* PinnedFor(std::int64_t step) const;
  void TellPinned(std::int64_t step);
  void Observe(std::span<const std::unique_ptr<GradientBucket>> buckets, std::int64_t end_ns);
  void WriteDown(std::int64_t from_step, const StepPlan& plan);
  PlanWords Words() const;
  /// Notes a plan that holds from a step on, and what it consists of (Engine::Explain).
  void Note(std::int64_t from_step, PlanExplanation plan);
  /// Notes what the options or a file have decided.
  void Note(std::int64_t from_step, PlanExplanation::By by, const StepPlan& plan,
            const std::string& why);
  /// `measures`: all ranks measure the network after that step.
  void Tell(std::int64_t from_step, const StepPlan& plan, bool measures = false);

  Coordinator& coordinator_;
  ProcessSet& set_;
  const GradientGroupSpec& spec_;
  const GroupPlan& plan_;
  const bool plans_;        ///< This rank does.
  const std::string name_;  ///< Of the group, in its set.
  const AllowedForms allowed_;
  AgreedPlans agreed_;
  std::vector<PlannedForms> pinned_;
  std::optional<InvalidArgument> unsuited_;  ///< What the file has.
  std::unique_ptr<FormTuner> tuner_;         ///< Null: another rank plans, or a file does.
  std::optional<AutotuneSamples> samples_;   ///< Empty: nobody reads them.
  StepPlan told_plan_;
  std::int64_t first_step_ = -1;  ///< In it, ranks may not know the group yet.
  bool measuring_ = false;        ///< Told to measure the network, and not done yet.
  int explained_ = 0;             ///< FormTuner::searches that the explanation is about.
  Handle told_ = kNoHandle;
  NetworkProbe probe_;  ///< Last: its thread may still run.
};

}  // namespace weir
