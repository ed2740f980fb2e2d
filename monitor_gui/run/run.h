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

/// How a rank is followed.
struct RankLink {
  enum class State : std::uint8_t { kRecorded, kConnecting, kLive, kLost };
  State state = State::kConnecting;
  QString detail{};           ///< Why it is lost.
  std::int64_t heard_ms = 0;  ///< Wall clock of its newest answer.
};

/// A run, as far as it is known: what the blocks of all ranks said. Not thread-safe (SharedRun is).
class Run {
 public:
  /// The first block of another job than before makes it that one's run.
  void Add(const Block& block);
  void SetLink(int rank, const RankLink& link) { links_[rank] = link; }
  /// There are no others.
  void KeepLinks(const std::set<int>& ranks);

  const std::map<int, RankRun>& ranks() const { return ranks_; }
  const std::map<int, RankLink>& links() const { return links_; }
  /// Whether that rank has said that it is at its end.
  bool HasEnded(int rank) const;
  /// Whether all have, of those that are known.
  bool HasEnded() const;
  /// Whether all ranks are followed so; false where none is followed.
  bool AllAre(RankLink::State state) const;
  const LayerHistory& layers() const { return layers_; }
  /// End of the newest thing that is known of any rank; 0: nothing.
  std::int64_t newest_ns() const;
  std::int64_t oldest_ns() const;

 private:
  void Begin(const Block& block);

  QString job_;  ///< Empty: not known.
  std::map<int, RankRun> ranks_;
  std::map<int, RankLink> links_;
  LayerHistory layers_;
};

/// A run that a source fills on its thread and that views look at on theirs. Thread-safe; whoever
/// came first is next, so that a source that never rests does not keep the window out.
class SharedRun {
 public:
  /// Changes it: `change(Run&)`. Keep it short, the window waits.
  template <typename Change>
  void Write(Change change) {
    const auto lock = Enter();
    change(run_);
    ++generation_;
  }
  /// What `look(const Run&)` returns.
  template <typename Look>
  auto Read(Look look) const {
    const auto lock = Enter();
    return look(static_cast<const Run&>(run_));
  }
  /// Another number after each change.
  std::uint64_t generation() const { return generation_; }

 private:
  std::unique_lock<std::mutex> Enter() const {
    const std::lock_guard next(next_);
    return std::unique_lock(mutex_);
  }
  mutable std::mutex next_;  // Held by the one who waits for the other, so that one alone does.
  mutable std::mutex mutex_;
  Run run_;
  std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace weir::monitor
