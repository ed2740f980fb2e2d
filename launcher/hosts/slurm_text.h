#pragma once

#include <string>
#include <vector>

/// The two notations of Slurm for a job's resources. `where` is the variable, for errors: both
/// functions throw InvalidArgument for anything else, and for unreasonably long lists.
namespace weir::launcher {

/// Reads "n[01-03,7],gpu-5" as n01, n02, n03, n7, gpu-5. Combines several brackets in one name.
std::vector<std::string> SlurmNodes(const std::string& where, const std::string& text);

/// Reads "2(x3),1" as 2, 2, 2, 1.
std::vector<int> SlurmCounts(const std::string& where, const std::string& text);

}  // namespace weir::launcher
