#pragma once

#include <span>
#include <string>
#include <vector>

#include "compression/state/state.h"

namespace weir {

/// Name of a server's state in a saved state (route=push_pull): arrays of a partition that a
/// rank serves. They belong to the partition and not to the rank, so in a job of another size
/// they go to the partition's new server.
std::string ServedName(const std::string& partition);

/// Takes the arrays of these partitions out of the states.
std::vector<SavedArray> TakeServed(std::span<const std::string> partitions,
                                   std::span<SavedState> states);

/// Gives a state the arrays of the `served` compressors (ServedName); zeros for missing ones.
void GiveServed(std::span<const NamedCompressor> served, std::span<const SavedArray> taken,
                SavedState& state);

}  // namespace weir
