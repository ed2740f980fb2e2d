#pragma once

#include <span>
#include <string>
#include <vector>

#include "compression/state/state.h"

namespace weir {

/// What a rank keeps as a server of route=push_pull, in a saved state: arrays of the part that it
/// serves, under another name. They belong to the part and not to the rank, so in a job of another
/// size they go to the part's new server.
std::string ServedName(const std::string& part);

/// Takes those of the parts out of the states.
std::vector<SavedArray> TakeServed(std::span<const std::string> parts,
                                   std::span<SavedState> states);

/// Gives a state those that `served` compressors (ServedName) want: zeros for what is not there.
void GiveServed(std::span<const NamedCompressor> served, std::span<const SavedArray> taken,
                SavedState& state);

}  // namespace weir
