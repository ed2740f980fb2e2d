#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace weir::launcher {

/// Tracks how the ranks' engines come together. MPI lets no rank out of its own start before all
/// have come to it, and has no deadline for that. So weirrun keeps one, from when all ranks run and
/// one of them waits. Does no input or output and takes the time as a value. Not thread-safe.
class Assembly {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `ranks`, followed by `servers`. Servers wait for ranks as long as it
  /// takes, but ranks wait for servers.
  Assembly(std::size_t ranks, std::size_t servers, std::chrono::milliseconds timeout)
      : engines_(ranks + servers, Engine::kNone), ranks_(ranks), timeout_(timeout) {}

  /// Called once all programs run.
  void Begin(Time now) { begun_ = now; }
  /// Called when `rank` makes an engine and starts to wait for the others.
  void Attach(int rank, Time now);
  /// Called when `rank` has met all others.
  void Join(int rank) { Set(rank, Engine::kJoined); }
  /// Called when `rank` has no engine any more, or never will.
  void Leave(int rank) { Set(rank, Engine::kNone); }

  bool has_engine(int rank) const { return At(rank) != Engine::kNone; }
  bool waits(int rank) const { return At(rank) == Engine::kWaiting; }
  /// Returns the first rank that waits for others, if any.
  std::optional<int> first_waiting() const;
  /// Returns the ranks that have not come, for which the others wait. Empty when nobody waits, and
  /// when all have come but do not find each other.
  std::vector<int> absent() const;
  /// Returns the deadline for the ranks to meet; nothing while nobody waits, or not all run.
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
