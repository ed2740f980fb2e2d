#pragma once

#include <string>

namespace weir {

/// Returns a rank's file, given the job's `path`: `path` itself on rank 0; on rank 3
/// "run.json" becomes "run.rank3.json".
std::string RankPath(const std::string& path, int rank);

}  // namespace weir
