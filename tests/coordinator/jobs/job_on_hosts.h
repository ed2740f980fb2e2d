#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "coordinator/engine/local_job.h"
#include "tests/ops/transport/counting_transport.h"

namespace weir {

inline Settings Hierarchical() {
  Settings settings;
  settings.hierarchical_allreduce = settings.hierarchical_allgather = true;
  return settings;
}

/// A job on made-up hosts, each with so many ranks in a row, except the last one.
class JobOnHosts {
 public:
  JobOnHosts(int ranks, int ranks_per_host)
      : job_(ranks, [this, ranks_per_host](int rank, std::unique_ptr<Transport> direct) {
          return std::make_unique<CountingTransport>(
              std::move(direct), [this, ranks_per_host, rank](int peer, std::size_t bytes) {
                if (rank / ranks_per_host != peer / ranks_per_host) crossed_ += bytes;
              });
        }) {
    job_.SetRanksPerHost(ranks_per_host);
  }

  void Run(const std::function<void(Engine&)>& body, const Settings& settings = Hierarchical()) {
    job_.Run(body, settings);
  }
  LocalJob& job() { return job_; }
  /// Bytes that all ranks sent to other hosts. Call it once the ranks have met afterwards.
  std::size_t crossed() const { return crossed_; }

 private:
  std::atomic<std::size_t> crossed_ = 0;
  LocalJob job_;
};

}  // namespace weir
