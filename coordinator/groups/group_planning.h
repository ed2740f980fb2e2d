#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "coordinator/groups/gradient_bucket.h"
#include "coordinator/groups/network_probe.h"
#include "coordinator/plan/explain_forms.h"
#include "coordinator/plan/form_tuner.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/plan/plan_file.h"
#include "coordinator/plan/step_plan.h"
#include "coordinator/rank/coordinator.h"
#include "weir/gradient_group.h"

namespace weir {

/// How a group's buckets travel from step to step, if their options have alternatives: the set's
/// first rank plans, and tells all ranks during a step what holds from the next one on. So all
/// change over in the same step.
///
/// OnPlanned may meet the others, which belong to the thread of the group's steps.
class GroupPlanning {
 public:
  /// Keeps its arguments, which must outlive it.
  GroupPlanning(Coordinator& coordinator, ProcessSet& set, const GradientGroupSpec& spec,
                const GroupPlan& plan);
  ~GroupPlanning();
  GroupPlanning(const GroupPlanning&) = delete;
  GroupPlanning& operator=(const GroupPlanning&) = delete;

  /// Takes over what is planned for the step, before its routes are chosen. An `empty` one may
  /// still turn out not to be taken.
  void Begin(std::int64_t step, bool empty = false);
  /// Notes that the empty step was taken.
  void EndEmpty(std::int64_t step);
  BucketForm FormOf(std::size_t bucket) const { return now_[bucket]; }
  /// Plans the step after the one that begins, on the rank that plans. Call it before the step's
  /// first bucket can be agreed on.
  void PlanNext(std::int64_t step);
  /// Notes the step, which ended at `end_ns`; `skipped`: its gradients were not exchanged.
  void End(std::int64_t step, bool skipped,
           std::span<const std::unique_ptr<GradientBucket>> buckets, std::int64_t end_ns);
  /// Waits for a measurement that has begun.
  void Settle() { probe_.Await(); }
  /// Notes a plan. Network thread. Throws Corrupt for one that nobody can have made.
  void OnPlanned(std::int64_t from_step, const std::string& forms);
  /// Takes over in the next step, whatever its number, what is planned, because a state was loaded:
  /// all ranks have heard the same.
  void OnLoaded();
  /// Returns the forms that each bucket may take on this rank, which must be the same on all; empty
  /// if there are no alternatives.
  std::string AllowedText() const;

 private:
  struct Next {
    std::int64_t from_step = 0;
    StepPlan plan;
    bool probes = false;  ///< All ranks measure the network after the step.
  };
  /// Begins to plan. Throws InvalidArgument for pinned plans that do not suit the group.
  void Prepare();
  /// Drops what was planned up to the step; true if ranks were to measure then. `mutex_` is held.
  bool DropPast(std::int64_t step);
  void Observe(std::span<const std::unique_ptr<GradientBucket>> buckets, std::int64_t end_ns);
  bool IsAllowed(std::size_t bucket, BucketForm form) const;
  std::vector<BucketForm> AllowedForms(std::size_t bucket) const;
  /// Throws InvalidArgument for a form that a bucket's options do not allow.
  StepPlan Parse(const std::string& forms) const;
  void WriteDown(std::int64_t from_step, const StepPlan& plan);
  PlanWords Words() const;
  /// Notes a plan that holds from a step on, and what it consists of (Engine::Explain).
  void Note(std::int64_t from_step, PlanExplanation plan);
  /// Notes what the options or a file have decided.
  void Note(std::int64_t from_step, PlanExplanation::By by, const StepPlan& plan,
            const std::string& why);
  /// `probes`: all ranks measure the network after that step.
  void Tell(std::int64_t from_step, const StepPlan& plan, bool probes = false);

  Coordinator& coordinator_;
  ProcessSet& set_;
  const GradientGroupSpec& spec_;
  const GroupPlan& plan_;
  const bool plans_;        ///< This rank does.
  const std::string name_;  ///< Of the group, in its set.
  std::vector<PlannedForms> pinned_;
  std::unique_ptr<FormTuner> tuner_;        ///< Null: another rank plans, or a file does.
  std::optional<AutotuneSamples> samples_;  ///< Empty: nobody reads them.
  StepPlan told_plan_;
  std::int64_t first_step_ = -1;  ///< In it, ranks may not know the group yet.
  bool probing_ = false;          ///< Told to measure the network, and not done yet.
  bool probes_ = false;           ///< All ranks measure it when the step ends.
  int explained_ = 0;             ///< FormTuner::searches that the explanation is about.
  StepPlan now_;
  std::mutex mutex_;
  std::deque<Next> next_;  ///< By step. A rank that is late may hear of two before it begins one.
  Handle told_ = kNoHandle;
  NetworkProbe probe_;  ///< Last: its thread may still run.
};

}  // namespace weir
