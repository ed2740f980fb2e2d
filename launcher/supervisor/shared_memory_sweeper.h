#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "common/unique_fd.h"

namespace weir::launcher {

/// Removes files that a killed rank leaves in /dev/shm.
///
/// MPICH 5 keeps one file there, mpich_shm_<number>_<n>, mapped by all ranks of a host from
/// MPI_Init to MPI_Finalize; UCX unlinks its ucx_shm_posix_<number> as soon as both sides have
/// it. Neither name tells the owner. So the sweeper watches for such files to appear and keeps
/// those that a process of its own session then has open or mapped: the supervisor leads a
/// session that holds its rank and all that the rank starts. Never touches files that no process
/// of the session uses. Not thread-safe.
class SharedMemorySweeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Watches from now on. Tests use another `directory`.
  explicit SharedMemorySweeper(std::string directory = "/dev/shm");

  /// Readable when something has happened in the directory; then call Look.
  int fd() const { return inotify_.get(); }
  /// Time at which to call Look again; none while no new file is unexplained.
  std::optional<Clock::time_point> next_look() const { return next_look_; }
  /// Notes new files, and those of them that `program`, or another process
  /// of the caller's session, uses.
  void Look(pid_t program, Clock::time_point now);
  /// Removes the session's files, if they are still the same ones.
  void Sweep();

 private:
  void ReadEvents(Clock::time_point now);
  void Claim(pid_t process);

  std::string directory_;
  UniqueFd inotify_;
  std::map<std::string, Clock::time_point> unexplained_;  // Path, and time of appearance.
  std::map<std::string, ino_t> ours_;
  std::optional<Clock::time_point> next_look_;
  Clock::duration pause_;  // Until the next look.
};

}  // namespace weir::launcher
