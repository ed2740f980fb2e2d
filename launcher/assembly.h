#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace weir::launcher {

/// How the ranks' engines come together. MPI lets no rank out of its own start before all have come
/// to it, and has no deadline for that; so weirrun keeps one, from when all ranks run and one of
/// them waits. Does no input or output and takes the time as a value. Not thread-safe.
class Assembly {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `ranks`, and behind them `servers`: those wait for ranks as long as it takes, but ranks wait
  /// for them.
  Assembly(std::size_t ranks, std::size_t servers, std::chrono::milliseconds timeout)
      : engines_(ranks + servers, Engine::kNone), ranks_(ranks), timeout_(timeout) {}

  /// All programs run.
  void Begin(Time now) { begun_ = now; }
  /// `rank` makes an engine and waits for the others from now on.
  void Attach(int rank, Time now);
  /// `rank` has met all others.
  void Join(int rank) { Set(rank, Engine::kJoined); }
  /// `rank` has no engine any more, or never will.
  void Leave(int rank) { Set(rank, Engine::kNone); }

  bool has_engine(int rank) const { return At(rank) != Engine::kNone; }
  bool waits(int rank) const { return At(rank) == Engine::kWaiting; }
  /// The first rank that waits for others, if any.
  std::optional<int> first_waiting() const;
  /// Those who have not come, and for whom the others wait. Empty when nobody waits, and when all
  /// have come but do not find each other.
  std::vector<int> absent() const;
  /// When the ranks should have met; nothing while nobody waits, or not all run.
  std::optional<Time> deadline() const;

 private:
  enum class Engine { kNone, kWaiting, kJoined };

  Engine At(int rank) const { return engines_[static_cast<std::size_t>(rank)]; }
  void Set(int rank, Engine state);

  std::vector<Engine> engines_;
  std::size_t ranks_;
  std::chrono::milliseconds timeout_;
  std::optional<Time> begun_;
  std::optional<Time> waits_since_;
};

}  // namespace weir::launcher
