#pragma once

#include <string>

#include "weir/error.h"

namespace weir {

/// Returns the error for a frame that `rank` cannot have sent: "WHAT for 'NAME' is corrupt: WHY".
inline Corrupt CorruptFrame(const std::string& what, const std::string& name, int rank,
                            const std::string& why, const std::string& phase = "merge") {
  return Corrupt(what + " for '" + name + "' is corrupt: " + why, {name, {rank}, phase});
}

inline std::string FrameOf(int rank) { return "the frame of rank " + std::to_string(rank); }
inline std::string PushOf(int rank) { return "what rank " + std::to_string(rank) + " pushed"; }

}  // namespace weir
