#pragma once

namespace weir::mpi {

/// One use of MPI by this process. At most one at a time; another one may follow, but not after one
/// that was abandoned: MPI still has its messages, and would go on writing where they were to go.
///
/// MPI can be initialised only once in a process, so what the first session initialised lasts until
/// the process exits, and is finalised there unless a session was abandoned or is still open, or
/// another rank has ended without: MPI_Finalize would wait for it for ever. What the program
/// initialised is its own; where it finalises that, and another rank has ended without, the job is
/// ended with a message.
class Session {
 public:
  /// Asks for MPI_THREAD_MULTIPLE. When MPI is initialised already, uses that; throws
  /// InvalidArgument, with the remedy, when its thread level is lower, MPI is already finalised, or
  /// a session was abandoned.
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
