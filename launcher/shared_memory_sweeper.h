#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "common/unique_fd.h"

namespace weir::launcher {

/// Removes what a killed rank leaves in /dev/shm.
///
/// MPICH 5 keeps one file there, mpich_shm_<number>_<n>, mapped by all ranks of a host from
/// MPI_Init to MPI_Finalize; UCX unlinks its ucx_shm_posix_<number> as soon as both sides have it.
/// Neither name says whose it is, so the sweeper watches for such files to appear and keeps those
/// that a process of its own session then has open or mapped: the supervisor leads a session that
/// holds its rank and all that the rank starts. Files that nobody of the session uses are never
/// touched. Not thread-safe.
class SharedMemorySweeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Watches from now on. `directory` is another one in tests.
  explicit SharedMemorySweeper(std::string directory = "/dev/shm");

  /// Readable when something has happened in the directory; then call Look.
  int fd() const { return inotify_.get(); }
  /// When Look wants to be called again; none while no new file is unexplained.
  std::optional<Clock::time_point> next_look() const { return next_look_; }
  /// Takes note of new files, and of which of them `program`, or another process of the
  /// caller's session, uses.
  void Look(pid_t program, Clock::time_point now);
  /// Removes the session's files, those that are still the same ones.
  void Sweep();

 private:
  void ReadEvents(Clock::time_point now);
  void Claim(pid_t process);

  std::string directory_;
  UniqueFd inotify_;
  std::map<std::string, Clock::time_point> unexplained_;  // Path, and when it appeared.
  std::map<std::string, ino_t> ours_;
  std::optional<Clock::time_point> next_look_;
  Clock::duration pause_;  // Until the next look.
};

}  // namespace weir::launcher
