#pragma once

#include <optional>
#include <string>

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"

namespace weir::mpi {

/// Decides whether this process may finalise MPI. MPI_Finalize returns when all ranks are in it and
/// has no deadline. Under weirrun, which knows the ranks that have ended, this asks weirrun first.
/// Not thread-safe; must not ask while an engine listens on the same socket.
class FinalizePermission {
 public:
  struct Answer {
    bool all_would;   ///< All ranks finalise MPI now.
    int never_would;  ///< Otherwise a rank that has ended without, or -1: the job is being ended.
  };

  /// Uses the socket in WEIR_SUPERVISOR_FD; without one, MPI may be finalised at any time.
  static FinalizePermission FromEnvironment();

  /// Uses `socket`, a connected Unix packet socket, or none.
  explicit FinalizePermission(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Waits for the answer, which is then kept. If none can come (weirrun has ended, or the question
  /// cannot be sent), the answer is that not all would.
  Answer Ask();
  /// True if the answer is known.
  bool asked() const { return answer_.has_value(); }
  /// Ends the job.
  void Abort(const std::string& reason);

 private:
  Answer Receive();

  UniqueFd socket_;
  std::optional<Answer> answer_;
};

}  // namespace weir::mpi
