#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace weir::launcher {

/// The user's program as a child process in a process group of its own. It dies with the thread
/// that started it. Not thread-safe.
class Program {
 public:
  /// Starts `command` with stdout and stderr on pipes and, in WEIR_SUPERVISOR_FD, the number
  /// of one end of a packet socket. Inherits the caller's stdin. Throws InvalidArgument that
  /// says why when it cannot be run.
  explicit Program(const std::vector<std::string>& command);

  pid_t pid() const { return pid_; }
  const UniqueFd& engine() const { return engine_; }  ///< The other end of the packet socket.
  UniqueFd TakeOutput() { return std::move(output_); }
  UniqueFd TakeErrors() { return std::move(errors_); }

  /// Sends a signal to the program's process group, also when the program itself has ended.
  void Signal(int signal) const;

 private:
  pid_t pid_ = -1;
  UniqueFd engine_;
  UniqueFd output_;
  UniqueFd errors_;
};

/// Kills (SIGKILL) and reaps every child of this process, and theirs: a subreaper
/// (prctl) inherits all that its children leave behind. Spares a process that runs the
/// executable `spared`, and its children.
void KillDescendants(const std::string& spared = {});

}  // namespace weir::launcher
