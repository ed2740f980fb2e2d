#include "tests/coordinator/jobs/job.h"

namespace weir {

std::vector<int> JobSizes() { return {1, 2, 3, 4}; }

void RunJob(int ranks, const std::function<void(Engine&)>& body, const Settings& settings) {
  RunLocal(ranks, body, settings);
}

}  // namespace weir
