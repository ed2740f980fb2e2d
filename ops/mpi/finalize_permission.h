#pragma once

#include <optional>
#include <string>

#include "common/supervision.h"
#include "common/unique_fd.h"

namespace weir::mpi {

/// Whether this process may finalise MPI. MPI_Finalize returns when all ranks are in it and has no
/// deadline; under weirrun, which knows who has ended, this asks weirrun first. Not thread-safe,
/// and not to be asked while an engine listens on the same socket.
class FinalizePermission {
 public:
  struct Answer {
    bool all_would;   ///< All ranks finalise MPI now.
    int never_would;  ///< Otherwise a rank that has ended without, or -1: the job is being ended.
  };

  /// Over the socket in WEIR_SUPERVISOR_FD; without one, MPI may be finalised at any time.
  static FinalizePermission FromEnvironment();

  /// Over `socket`, a connected Unix packet socket, or none.
  explicit FinalizePermission(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Waits for the answer, which then stays. Where none can come (weirrun has ended, or the
  /// question cannot be sent), not all would.
  Answer Ask();
  /// Whether the answer is known.
  bool asked() const { return answer_.has_value(); }
  /// Ends the job.
  void Abort(const std::string& reason);

 private:
  Answer Receive();

  UniqueFd socket_;
  std::optional<Answer> answer_;
};

}  // namespace weir::mpi
