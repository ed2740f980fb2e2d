#pragma once

namespace weir::mpi {

/// One use of MPI by this process. At most one at a time; another one may follow.
///
/// MPI can be initialised only once in a process, so what the first session initialised lasts until
/// the process exits, and is finalised there unless a session was abandoned or is still open:
/// MPI_Finalize waits for ranks that may be dead. What the program initialised is its own.
class Session {
 public:
  /// Asks for MPI_THREAD_MULTIPLE. When MPI is initialised already, uses that; throws
  /// InvalidArgument, with the remedy, when its thread level is lower or MPI is already finalised.
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Says that an operation failed: MPI is not called again by this session.
  void Abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  bool abandoned_ = false;
};

}  // namespace weir::mpi
