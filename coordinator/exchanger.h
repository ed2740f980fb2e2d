#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "coordinator/bucket.h"

namespace weir {

/// The exchanges of a rank: starts what all ranks agreed on, in the agreed order, a bounded number
/// at a time, and moves them forward. Every rank starts in the same order, so the bound cannot lock
/// ranks up against each other. Network thread only.
class Exchanger {
 public:
  /// `finished` is called when a bucket's exchange is complete.
  Exchanger(std::size_t most_at_once, std::function<void(Bucket*)> finished);

  /// Next in the agreed order; starts once the bucket is staged.
  void Enqueue(Bucket* bucket);

  /// True when anything moved on. Throws what a collective throws.
  bool Poll(std::int64_t now_ns);

  bool under_way() const { return !active_.empty(); }
  /// Buckets that wait for their turn, or for their stages before it.
  std::size_t queued() const { return queue_.size(); }
  /// Gives everything up; no buffer is touched once this returns.
  void Cancel();

 private:
  struct Active {
    Bucket* bucket;
    Collective* collective;
  };
  bool StartNext(std::int64_t now_ns);

  const std::size_t most_at_once_;
  const std::function<void(Bucket*)> finished_;
  std::deque<Bucket*> queue_;
  std::vector<Active> active_;
  std::uint32_t next_number_ = 0;
};

}  // namespace weir
