#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "compression/compressor.h"
#include "coordinator/gradients/gradient_slices.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/sets/process_set.h"

namespace weir {

/// The ranks of a group as its servers (PushPullRoute): who serves which partition, and the
/// compressors with which this rank answers. Where the options say route=push_pull it has them for
/// good, and where a plan says so (BucketForm::kServed) as long as that holds. Between steps only.
class RankServers {
 public:
  /// Keeps its arguments, which must outlive it. `dedicated`: so many servers are no ranks.
  RankServers(const GroupPlan& plan, const ProcessSet& set, int dedicated);

  /// True if some rank has answers of its own to the partition.
  bool IsServed(std::size_t partition) const { return served_[partition]; }
  /// True on one rank, which takes what former servers have not answered: nobody serves now.
  bool TakesUnanswered(std::size_t partition) const;
  /// Sets the slice's server, and its answers if this rank has them.
  void Place(std::size_t partition, GradientSlice& slice);
  /// True if plans may say that a rank serves: Follow has something to do.
  bool follows_plans() const { return follows_plans_; }
  /// Follows the plan of the coming step. What this rank has not answered yet when it serves no
  /// more becomes part of what it has not sent itself: the mean gets all of it. That takes time,
  /// which nobody has in an `empty` step, taken by the network's thread: the next other one does
  /// it.
  void Follow(std::size_t partition, BucketForm form, bool empty, GradientSlice& slice);
  /// Returns the compressor with which this rank answers, or which it still has to hand back; null:
  /// another rank answers, or none.
  Compressor* answering(std::size_t partition) const { return answering_[partition].get(); }

 private:
  /// True if this rank is the partition's server, if it has one.
  bool IsOwn(std::size_t partition) const;
  void Make(std::size_t partition);
  void HandBack(std::size_t partition);
  const Variant& VariantOf(std::size_t partition) const {
    return plan_.variants[plan_.partitions[partition].variant];
  }

  const GroupPlan& plan_;
  const ProcessSet& set_;
  const bool dedicated_;
  const bool follows_plans_;
  std::vector<int> servers_;                            ///< By partition.
  std::vector<bool> served_;                            ///< By partition.
  std::vector<std::unique_ptr<Compressor>> answering_;  ///< By partition.
};

}  // namespace weir
