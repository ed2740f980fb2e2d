#pragma once

#include <cstddef>
#include <vector>

namespace weir::launcher {

/// Tracks how the ranks part from MPI. MPI_Finalize returns when every rank is in it, and has no
/// deadline. So each rank asks before. It is answered when all have asked, or when one has ended
/// without and never will. A rank that asks has initialised MPI, which takes all ranks, so all are
/// waited for. Does no input or output. Not thread-safe.
class Finalization {
 public:
  explicit Finalization(std::size_t ranks) : ranks_(ranks, Rank::kMayAsk) {}

  void Ask(int rank) { At(rank) = Rank::kAsks; }
  bool asks(int rank) const { return ranks_[static_cast<std::size_t>(rank)] == Rank::kAsks; }
  /// Called when the program of `rank` is over.
  void OnEnded(int rank);
  /// Called when the job is ending: nobody must wait any more.
  void GiveUp() { some_never_will_ = true; }

  struct Answer {
    std::vector<int> ranks;  ///< Receivers.
    bool all_would;
    int never_will;  ///< A rank that has ended without, or -1.
  };
  /// Returns the answer to send now; each rank is answered once.
  Answer TakeAnswer();

 private:
  enum class Rank { kMayAsk, kAsks, kAnswered, kEnded };

  Rank& At(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  std::vector<Rank> ranks_;
  bool some_never_will_ = false;
  int never_will_ = -1;
};

}  // namespace weir::launcher
