#pragma once

namespace weir::mpi {

/// The process's use of MPI, from MPI_Init_thread to MPI_Finalize. At most one at a time.
class Session {
 public:
  /// Asks for MPI_THREAD_MULTIPLE. When the program initialised MPI itself, uses that; throws
  /// InvalidArgument, with the remedy, when its thread level is lower or MPI is already finalised.
  Session();
  /// Finalises only what it initialised, and never after Abandon: MPI_Finalize waits for ranks that
  /// may be dead.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Says that an operation failed: MPI is not called again by this session.
  void Abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  bool initialized_here_ = false;
  bool abandoned_ = false;
};

}  // namespace weir::mpi
