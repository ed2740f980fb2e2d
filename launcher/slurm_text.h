#pragma once

#include <string>
#include <vector>

/// The two notations in which Slurm writes what a job has been given. `where` is the variable, for
/// the error: both throw InvalidArgument for anything else, and for lists beyond all reason.
namespace weir::launcher {

/// "n[01-03,7],gpu-5" are n01, n02, n03, n7, gpu-5. Several brackets in one name are combined.
std::vector<std::string> SlurmNodes(const std::string& where, const std::string& text);

/// "2(x3),1" are 2, 2, 2, 1.
std::vector<int> SlurmCounts(const std::string& where, const std::string& text);

}  // namespace weir::launcher
