#pragma once

#include <cstddef>
#include <vector>

namespace weir::launcher {

/// How the ranks part from MPI. MPI_Finalize returns when every rank that has initialised MPI is in
/// it, and has no deadline; so each rank asks before, and is answered when all have asked, or when
/// one has ended without and never will. Does no input or output. Not thread-safe.
class Finalization {
 public:
  explicit Finalization(std::size_t ranks) : ranks_(ranks, Rank::kNone) {}

  /// `rank` initialises MPI.
  void Initialize(int rank) { Set(rank, Rank::kInitialized); }
  /// `rank` asks.
  void Ask(int rank) { Set(rank, Rank::kAsking); }
  bool asks(int rank) const { return At(rank) == Rank::kAsking; }
  /// The program of `rank` has ended.
  void End(int rank);

  /// The job is ending: nobody is to wait any more.
  void GiveUp() { one_never_comes_ = true; }

  struct Answer {
    std::vector<int> ranks;  ///< To whom.
    bool all_have_come;
  };
  /// What is to be said now; each rank is answered once.
  Answer TakeAnswer();

 private:
  enum class Rank { kNone, kInitialized, kAsking, kAnswered };

  Rank At(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void Set(int rank, Rank state) { ranks_[static_cast<std::size_t>(rank)] = state; }

  std::vector<Rank> ranks_;
  bool one_never_comes_ = false;
};

}  // namespace weir::launcher
