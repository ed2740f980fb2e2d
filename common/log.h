#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "weir/settings.h"

namespace weir {

/// Messages for people, on stderr, through spdlog's logger "weir" (the program's own spdlog loggers
/// are left alone). Thread-safe. Before Configure the level is warning and no rank is shown.
///
///   LogWarning("tensor {} was not submitted by ranks {}", name, ranks);
class Log {
 public:
  /// Sets the level and the beginning of each line: time, rank, host. Rank 0 also writes the
  /// settings' warnings and, at level info, the source of each setting.
  static void Configure(const Settings& settings, int rank, const std::string& host);

  /// Puts this rank on lines of the calling thread, for ranks that share a process.
  static void SetRankOfThread(int rank);

  /// True if a message of this level would be written; for messages that are costly to make.
  static bool Enabled(LogLevel level);

  static void Write(LogLevel level, std::string_view message);

  template <typename... Args>
  static void Format(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (Enabled(level)) Write(level, fmt::format(format, std::forward<Args>(args)...));
  }
};

template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  Log::Format(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  Log::Format(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  Log::Format(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  Log::Format(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace weir
