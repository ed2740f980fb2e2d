#pragma once

#include <QString>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "monitor_gui/run/layer_history.h"
#include "monitor_gui/run/rank_run.h"

namespace weir::monitor {

/// State of following a rank.
struct RankLink {
  enum class State : std::uint8_t { kRecorded, kConnecting, kLive, kLost };
  State state = State::kConnecting;
  QString detail{};           ///< Reason of the loss.
  std::int64_t heard_ms = 0;  ///< Wall clock of its newest answer.
};

/// The known part of a run: the blocks of all ranks. Not thread-safe (SharedRun is).
class Run {
 public:
  /// Adds a block. The first one of another job replaces the run by that job's.
  void Add(const Block& block);
  void SetLink(int rank, const RankLink& link) { links_[rank] = link; }
  /// Drops links to all other ranks.
  void KeepLinks(const std::set<int>& ranks);

  const std::map<int, RankRun>& ranks() const { return ranks_; }
  const std::map<int, RankLink>& links() const { return links_; }
  /// True if that rank has reported its end.
  bool HasEnded(int rank) const;
  /// True if all known ranks have.
  bool HasEnded() const;
  /// True if all ranks are in this state; false where none is followed.
  bool AllAre(RankLink::State state) const;
  const LayerHistory& layers() const { return layers_; }
  /// End of the newest known event of any rank; 0: nothing.
  std::int64_t newest_ns() const;
  std::int64_t oldest_ns() const;

 private:
  void Begin(const Block& block);

  QString job_;  ///< Empty: not known.
  std::map<int, RankRun> ranks_;
  std::map<int, RankLink> links_;
  LayerHistory layers_;
};

/// A run that a source fills on its thread and that views read on theirs. Thread-safe. First come,
/// first served, so that a source that never rests does not keep the window out.
class SharedRun {
 public:
  /// Changes the run: `change(Run&)`. Keep it short, because the window waits.
  template <typename Change>
  void Write(Change change) {
    const auto lock = Enter();
    change(run_);
    ++generation_;
  }
  /// Returns the result of `look(const Run&)`.
  template <typename Look>
  auto Read(Look look) const {
    const auto lock = Enter();
    return look(static_cast<const Run&>(run_));
  }
  /// Differs after each change.
  std::uint64_t generation() const { return generation_; }

 private:
  std::unique_lock<std::mutex> Enter() const {
    const std::lock_guard next(next_);
    return std::unique_lock(mutex_);
  }
  mutable std::mutex next_;  // Held by a waiting thread, so that only one waits.
  mutable std::mutex mutex_;
  Run run_;
  std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace weir::monitor
