#pragma once

#include <chrono>
#include <string>

namespace weir::supervision {

/// The two ends of a connection say something at least this often ...
inline constexpr std::chrono::milliseconds kHeartbeatEvery{1000};
/// ... and a process that is silent for this long is lost.
inline constexpr std::chrono::milliseconds kSilence{10000};

/// Writes "its host has been silent for 10 s".
inline std::string SilenceText(const std::string& who) {
  return who + " has been silent for " + std::to_string(kSilence.count() / 1000) + " s";
}

}  // namespace weir::supervision
