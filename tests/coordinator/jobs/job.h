#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "weir/engine.h"

/// The tests of this folder are written once and built twice: with threads of one process as ranks
/// (local_job.cc), and with the processes of a job, over MPI (parallel_job.cc).
namespace weir {

/// Numbers of ranks that a test can have here.
std::vector<int> JobSizes();
/// Those numbers that are at least `least`.
inline std::vector<int> JobSizesFrom(int least) {
  std::vector<int> sizes = JobSizes();
  std::erase_if(sizes, [least](int size) { return size < least; });
  return sizes;
}

/// Runs `body` on each rank of a job of `ranks` ranks, with an engine of its own, and returns when
/// those of this process are done. Rethrows the first one's exception, after ending the others.
void RunJob(int ranks, const std::function<void(Engine&)>& body, const Settings& settings = {});

/// Returns the results of `body` on this process's ranks, by rank. `run` is RunJob or RunLocal.
template <typename Run, typename Body>
auto Results(Run run, int ranks, Body body, const Settings& settings = {}) {
  std::map<int, decltype(body(std::declval<Engine&>()))> results;
  std::mutex mutex;
  run(
      ranks,
      [&](Engine& engine) {
        auto result = body(engine);
        const std::lock_guard lock(mutex);
        results.emplace(engine.rank(), std::move(result));
      },
      settings);
  return results;
}

}  // namespace weir
