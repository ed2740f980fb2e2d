#pragma once

#include <vector>

#include "coordinator/servers/served_bucket.h"

namespace weir {

/// Waits for what all workers push in a step, adds it up in rank order and answers all of them with
/// the same bytes: the same bits as route=push_pull without servers of its own.
class SynchronousBucket final : public ServedBucket {
 public:
  /// One answering compressor a part.
  explicit SynchronousBucket(Description description);
  void Take(int worker, std::span<const std::byte> frame, std::vector<Answer>& due) override;

 private:
  void Add();

  std::vector<std::optional<Pushed>> pushed_;  ///< Of the step under way, by worker.
  std::int64_t last_step_ = -1;                ///< That was answered.
  std::vector<std::vector<float>> means_;      ///< By part.
  std::vector<std::byte> answer_;
  std::size_t answer_bytes_ = 0;
};

}  // namespace weir
