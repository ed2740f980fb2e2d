#pragma once

#include <cstddef>
#include <vector>

namespace weir::launcher {

/// How the ranks part from MPI. MPI_Finalize returns when every rank is in it, and has no deadline;
/// so each rank asks before, and is answered when all have asked, or when one has ended without and
/// never will. Who asks has initialised MPI, which takes all ranks, so all are waited for. Does no
/// input or output. Not thread-safe.
class Finalization {
 public:
  explicit Finalization(std::size_t ranks) : ranks_(ranks, Rank::kMayAsk) {}

  void Ask(int rank) { At(rank) = Rank::kAsks; }
  bool asks(int rank) const { return ranks_[static_cast<std::size_t>(rank)] == Rank::kAsks; }
  /// The program of `rank` is over.
  void OnEnded(int rank);
  /// The job is ending: nobody is to wait any more.
  void GiveUp() { some_never_will_ = true; }

  struct Answer {
    std::vector<int> ranks;  ///< To whom.
    bool all_would;
    int never_will;  ///< A rank that has ended without, or -1.
  };
  /// What is to be said now; each rank is answered once.
  Answer TakeAnswer();

 private:
  enum class Rank { kMayAsk, kAsks, kAnswered, kEnded };

  Rank& At(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  std::vector<Rank> ranks_;
  bool some_never_will_ = false;
  int never_will_ = -1;
};

}  // namespace weir::launcher
