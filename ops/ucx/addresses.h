#pragma once

#include <string>
#include <vector>

/// What the ranks of a network tell each other of their workers, before they connect. Workers of
/// different versions of UCX do not understand each other, and UCX does not say so: so the text of
/// a rank begins with its version, "1.20.1 ", and the length of each worker's address and the
/// address follow.
namespace weir::ucx {

/// Returns the text of a rank that has workers with these addresses.
std::string AddressText(const std::string& version, const std::vector<std::string>& workers);

/// Returns the addresses of all ranks' first workers, by rank, then those of all second ones, and
/// so on, as far as all ranks have them. Throws InvalidArgument, the same on all ranks, when
/// versions differ, and Corrupt when one is no such text.
std::vector<std::vector<std::string>> ReadAddressTexts(const std::vector<std::string>& ranks);

}  // namespace weir::ucx
