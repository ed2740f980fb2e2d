#pragma once

#include <vector>

#include "coordinator/servers/served_bucket.h"

namespace weir {

/// Workers do not wait for each other. Each push is added to a box for each worker, and
/// a worker's answer is the content of its box, compressed with a residual of its own.
/// So each worker receives each contribution once, and workers differ only by the
/// contents of boxes and residuals.
///
/// The staleness is bounded: a worker that has pushed step t is answered once all workers have
/// pushed step t - max_staleness or a later one (stale synchronous parallel: Ho et al., NeurIPS
/// 2013). Needs 2 * workers values of fp32 for each element.
class AsynchronousBucket final : public ServedBucket {
 public:
  /// Takes one answering compressor for each worker in each partition. `max_staleness` is at
  /// least 1.
  AsynchronousBucket(Description description, std::int64_t max_staleness);
  void Take(int worker, std::span<const std::byte> frame, std::vector<Answer>& due) override;
  void Finish(int worker) override;

 private:
  struct Worker {
    std::int64_t pushed = -1;  ///< Its last step.
    bool finished = false;
    std::optional<Pushed> waits;            ///< Its push, until it is answered.
    std::vector<std::vector<float>> boxes;  ///< By partition: sums, not means.
    std::vector<std::byte> answer;
  };
  /// Returns the last step that every worker has pushed.
  std::int64_t PushedByAll() const;
  Answer Empty(int worker);
  void CheckThatNobodyWaitsInVain() const;

  const std::int64_t max_staleness_;
  std::vector<Worker> workers_;
  bool begun_ = false;
};

}  // namespace weir
