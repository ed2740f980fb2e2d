#pragma once

#include <vector>

#include "coordinator/servers/served_bucket.h"

namespace weir {

/// Waits for all workers' pushes of a step, adds them up in rank order and answers all of them with
/// the same bytes: the same bits as route=push_pull without dedicated servers.
class SynchronousBucket final : public ServedBucket {
 public:
  /// Takes one answering compressor per partition.
  explicit SynchronousBucket(Description description);
  void Take(int worker, std::span<const std::byte> frame, std::vector<Answer>& due) override;

 private:
  void Add();

  std::vector<std::optional<Pushed>> pushed_;  ///< In the current step, by worker.
  std::int64_t last_step_ = -1;                ///< The last answered step.
  std::vector<std::vector<float>> means_;      ///< By partition.
  std::vector<std::byte> answer_;
  std::size_t answer_bytes_ = 0;
};

}  // namespace weir
