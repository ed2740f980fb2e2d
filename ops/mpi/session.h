#pragma once

namespace weir::mpi {

/// One use of MPI by this process. At most one at a time. Another one may follow, but not after an
/// abandoned one: MPI still has its messages, and would go on writing to their buffers.
///
/// MPI can be initialised only once in a process. MPI that the first session initialised lasts
/// until the process exits. It is finalised there unless a session was abandoned or is still open,
/// or another rank has ended without finalising: MPI_Finalize would wait for it for ever. MPI that
/// the program initialised belongs to the program. If the program finalises it after another rank
/// has ended without, the job is ended with a message.
class Session {
 public:
  /// Asks for MPI_THREAD_MULTIPLE. When MPI is initialised already, uses that; throws
  /// InvalidArgument, with the remedy, when its thread level is lower, MPI is already finalised, a
  /// session was abandoned, or MPI is not initialised and /dev/shm too small for it.
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Reports that an operation failed: this session does not call MPI again.
  void Abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  bool abandoned_ = false;
};

}  // namespace weir::mpi
