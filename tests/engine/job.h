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

/// The numbers of ranks that a test can have here.
std::vector<int> JobSizes();
/// Those of at least so many ranks.
inline std::vector<int> JobSizesFrom(int least) {
  std::vector<int> sizes = JobSizes();
  std::erase_if(sizes, [least](int size) { return size < least; });
  return sizes;
}

/// Runs `body` on each rank of a job of `ranks` ranks, with an engine of its own, and returns when
/// those of this process are through. Throws what the first of them threw, after ending the others.
void RunJob(int ranks, const std::function<void(Engine&)>& body, const Settings& settings = {});

/// What `body` returns on each rank of this process, by rank. `run` is RunJob or RunLocal.
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
