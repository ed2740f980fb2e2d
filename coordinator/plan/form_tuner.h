#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/plan/form_times.h"
#include "coordinator/plan/pass_cost.h"
#include "coordinator/plan/step_observation.h"
#include "metrics/gauges/plans.h"

namespace weir {

/// How long a search takes.
struct SearchEffort {
  /// They do not count, before the first search: programs take some until their steps are alike.
  std::size_t warmup_steps = 9;
  std::size_t first_steps = 3;  ///< Of each plan, in the first round.
  std::size_t most_tries = 20;  ///< Plans in that round.
};

/// Finds the plan with the shortest steps. It tries what may be good, one plan after the other, in
/// real steps, and keeps the best: a prediction only says what is not worth a try, and which
/// mixture of forms is. It tries again when steps take another time than they did, or the density
/// falls.
///
/// A function of its observations alone. Not thread-safe.
class FormTuner {
 public:
  /// Takes the forms that each bucket may have, those first that change most of what is trained.
  /// kCompressed is always among them.
  explicit FormTuner(std::vector<std::vector<BucketForm>> allowed, const SearchEffort& effort = {});

  /// Returns the plan that the coming steps should have.
  const StepPlan& plan() const { return wanted_; }
  /// True while a search waits for the network's measurement.
  bool wants_network() const { return wants_network_; }
  void SetNetwork(const HostLink& network);
  /// Ends a search, by what it has seen.
  void EndSearch();
  /// Notes a step. Those of a plan that is not wanted any more count for nothing but FormTimes.
  void Observe(const StepObservation& step);

  using WhyNot = PlanExplanation::WhyNot;
  /// A plan that was considered.
  struct Tried {
    StepPlan plan;
    std::vector<double> seconds;    ///< Of the steps taken; empty: it was not worth a try.
    std::vector<PassTimes> passes;  ///< Of the same steps.
    bool hopeless = false;          ///< It was given up, or not begun.
    std::optional<WhyNot> why_not;

    double median() const;
  };
  /// Returns what was considered since the search began.
  const std::vector<Tried>& tried() const { return tried_; }
  /// True once a plan is chosen.
  bool settled() const { return settled_; }
  const FormTimes& times() const { return times_; }
  const std::vector<std::vector<BucketForm>>& allowed() const { return allowed_; }
  /// Returns how often a plan was chosen.
  int searches() const { return searches_; }

 private:
  void BeginSearch();
  /// Returns the plan with a form for all buckets that may have it.
  StepPlan AllIn(BucketForm form) const;
  void Consider(StepPlan plan);
  void Advance();
  /// Returns the steps of each plan that is tried, by the end of this round.
  std::size_t StepsWanted() const;
  std::size_t CountTries() const;
  /// Notes whether the plan is worth a try.
  void Judge(Tried& tried) const;
  bool MayGainByRoute() const;
  void EndRound();
  void Settle();
  void Watch(const StepObservation& step);
  double best() const;
  StepPlan Mixture() const;
  double ExactnessOf(const StepPlan& plan) const;

  const std::vector<std::vector<BucketForm>> allowed_;
  const SearchEffort effort_;
  std::size_t warmup_left_;
  FormTimes times_;
  StepPlan wanted_;
  StepPlan before_;  ///< Wanted when the search began.
  std::vector<Tried> tried_;
  std::vector<StepPlan> skipped_;  ///< The last search did not try them: this one does.
  std::size_t trying_ = 0;
  int round_ = 0;
  bool fresh_ = false;  ///< The next step is the first one of its plan.
  bool wants_network_ = false;
  bool settled_ = false;
  int searches_ = 0;

  double expected_ = 0.0;          ///< Seconds of a step by the chosen plan.
  double second_ = 0.0;            ///< Seconds of a step by the best of the others, as tried.
  double expected_network_ = 0.0;  ///< Seconds in which its exchanges are under way.
  double expected_bytes_ = 0.0;    ///< Of a step with all buckets compressed, by its density.
  std::deque<double> seconds_;     ///< Of the newest steps.
  std::deque<double> network_;
  std::size_t since_ = 0;     ///< Steps since the choice.
  std::size_t patience_ = 0;  ///< Least number of steps until another search.
};

}  // namespace weir
