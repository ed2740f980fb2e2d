#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compression/state/state.h"
#include "weir/engine.h"
#include "weir/outer.h"

namespace weir {

/// Parameters that are agreed on together. What all ranks agreed on last is their anchor. A round
/// is a step of an optimizer that has the anchors as its parameters, and as gradients how far this
/// rank has gone from them.
class OuterFragment {
 public:
  /// Collective. `name`: of the optimizer.
  OuterFragment(Engine& engine, std::vector<Parameter> parameters, const OuterOptions& options,
                std::string name);
  /// Waits for a round that is under way, because other ranks may need what this one still sends.
  ~OuterFragment();
  // The optimizer has addresses of the arrays.
  OuterFragment(const OuterFragment&) = delete;
  OuterFragment& operator=(const OuterFragment&) = delete;

  /// Steps before the last round.
  std::int64_t begun_at() const { return begun_at_; }
  const std::optional<StepReport>& report() const { return report_; }
  /// Steps before the round of the report; -1 without one.
  std::int64_t reported_at() const { return reported_at_; }

  /// Begins a round after so many steps: sends off how far this rank has gone, and does not wait.
  void Begin(std::int64_t steps);
  /// Ends the round, if one is under way: parameters become the anchors, and beyond them what this
  /// rank has done meanwhile.
  void Finish();

  /// Appends what the optimizer does not save. Waits for a round that is under way.
  void Collect(SavedState& state);
  void Save(std::ostream& out) const;
  /// Throws InvalidArgument unless the state has at `array` what Collect appends, and moves on.
  void Check(const SavedState& own, std::size_t& array) const;
  /// Restores the optimizer from `files`, of former ranks, and what Collect has appended from
  /// `own`, which was checked, at `array`; without `own` parameters are the anchors. Collective.
  void Load(const std::vector<std::string>& files, const SavedState* own, std::size_t& array);
  /// Takes part in Load, so that it fails on all ranks.
  void TellThatLoadFailed();

 private:
  bool is_under_way() const { return !snapshots_.empty(); }
  /// Waits for the round, and moves the anchors. Parameters stay as they are.
  void Agree();
  void EndRound();
  void FollowAnchors();
  void TakeOwn(const SavedState& own, std::size_t& array);

  const std::vector<Parameter> parameters_;
  const float rate_;
  std::vector<std::vector<float>> anchors_;
  std::vector<std::vector<float>> gone_;  ///< How far this rank has gone, then the direction.
  std::vector<std::vector<float>>
      snapshots_;           ///< Values as a round began; none: none is under way.
  bool is_agreed_ = false;  ///< The anchors have moved, and parameters have not followed yet.
  std::int64_t begun_at_ = 0;
  std::optional<StepReport> report_;
  std::int64_t reported_at_ = -1;
  std::optional<DistributedOptimizer> optimizer_;
};

}  // namespace weir
