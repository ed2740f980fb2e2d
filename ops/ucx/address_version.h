#pragma once

#include <string>
#include <vector>

/// Workers of different versions of UCX do not understand each other, and UCX does not say so. So
/// the address that a rank gives to others begins with its version: "1.20.1 ".
namespace weir::ucx {

std::string WithVersion(const std::string& version, const std::string& address);

/// Takes the versions off the addresses of all ranks. Throws InvalidArgument, the same on all
/// ranks, when they differ.
void TakeVersions(std::vector<std::string>& addresses);

}  // namespace weir::ucx
