#pragma once

#include <string>

namespace weir {

/// The file of a rank where a job is told of one: `path` itself on rank 0; on rank 3 "run.json"
/// becomes "run.rank3.json".
std::string RankPath(const std::string& path, int rank);

}  // namespace weir
