#pragma once

#include <chrono>

namespace weir::launcher {

/// weirrun and every supervisor say something at least this often ...
inline constexpr std::chrono::milliseconds kHeartbeatEvery{1000};
/// ... and a process that is silent for this long is lost.
inline constexpr std::chrono::milliseconds kSilence{10000};

}  // namespace weir::launcher
