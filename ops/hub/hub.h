#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/summary/job_totals.h"
#include "common/supervision/meeting.h"
#include "common/supervision/supervision.h"

namespace weir {

/// What weirrun is to the ranks that it starts, for ranks that something else has started
/// (torchrun, srun): tells them where the others are, who is lost and who ends the job, and sums
/// the job up. Does not look after their processes. Does no input or output and takes the time as a
/// value. Not thread-safe.
class Hub {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Send = std::function<void(int rank, const supervision::Message&)>;

  /// Ranks that wait for others longer than `start_timeout` are told who has not come.
  Hub(std::size_t ranks, std::chrono::milliseconds start_timeout, Send send);

  /// `rank` has come, from `host`.
  void OnHello(int rank, const std::string& host);
  /// Handles a message from the engine of `rank`.
  void OnMessage(int rank, const supervision::Message& message, Time now);
  /// The process of `rank` has ended, or says nothing any more.
  void OnLost(int rank, const std::string& how);
  /// Does what is due. Call at `deadline()`, or at any time.
  void Tick(Time now);

  /// Writes what weirrun would print when the job has ended; nothing if no rank has reported steps.
  std::vector<std::string> SummaryText() const;

  std::optional<Time> deadline() const { return deadline_; }
  /// True once a rank that had met the others has left or is lost: who comes now wants another job.
  bool over() const { return over_; }
  /// True if no rank has an engine.
  bool idle() const;

 private:
  enum class Engine { kNone, kWaiting, kJoined };
  struct Rank {
    std::string host{};
    Engine engine = Engine::kNone;
    std::string lost_how{};  ///< Why its engine has ended without leaving; empty: it has not.
  };

  Rank& At(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void Set(int rank, Engine engine);
  supervision::Message LossOf(int rank) const;
  void Broadcast(const supervision::Message& message, int except);
  /// Writes "ranks 1-3, 7" of the ranks that have no engine.
  std::string Absent() const;

  std::vector<Rank> ranks_;
  const std::chrono::milliseconds start_timeout_;
  const Send send_;
  supervision::Meeting meeting_;
  JobTotals totals_;
  std::optional<Time> deadline_;
  bool over_ = false;
};

}  // namespace weir
