#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::launcher {

/// What an elastic job knows of one of its processes.
struct ElasticProcess {
  std::string host;
  enum { kStarting, kRunning, kOver } state = kStarting;
  bool later = false;  ///< It was started after the job.
  bool waits = false;  ///< Has come to be given a place.
  int rank = -1;       ///< The last one that it was given; -1: none yet.
  std::chrono::steady_clock::time_point start_due{};
  /// It was among those that began the job, or has got what they have.
  bool holds_state = false;
  std::string condemned{};  ///< Why it is being ended; empty: it is not.
  bool unwanted = false;    ///< Its host should go.
  bool dismissed = false;   ///< It was told to end: how it does is no matter.
  std::optional<std::chrono::steady_clock::time_point> kill_due{};  ///< Of a dismissed one.
  std::optional<std::chrono::steady_clock::time_point>
      settles{};          ///< Ended with code 0: time to check who misses it.
  bool unjoined = false;  ///< Ended so before anyone had joined: nobody misses it yet.
  std::string trouble{};  ///< Why it does not start, if known.

  /// True if it may be given a place: one that is being ended may not.
  bool HasCome() const { return waits && condemned.empty(); }
};

/// All processes that an elastic job has had, by number.
class ElasticProcesses {
 public:
  void Add(ElasticProcess process) { processes_.push_back(std::move(process)); }

  int size() const { return static_cast<int>(processes_.size()); }
  ElasticProcess& At(int process) { return processes_[static_cast<std::size_t>(process)]; }
  const ElasticProcess& At(int process) const {
    return processes_[static_cast<std::size_t>(process)];
  }

  /// Returns the processes for which the condition holds.
  template <class Condition>
  std::vector<int> Those(Condition condition) const {
    std::vector<int> those;
    for (int p = 0; p < size(); ++p) {
      if (std::invoke(condition, At(p))) those.push_back(p);
    }
    return those;
  }
  std::vector<int> Alive() const {
    return Those([](const ElasticProcess& p) { return p.state != ElasticProcess::kOver; });
  }

  /// Returns the last rank that it has had; of one that began the job its number; else -1.
  int RankOf(int process) const;
  /// Describes a process for people, by its last rank if it has had one: "rank 1 on b". Where that
  /// is not the number before its output: "rank 1 (process 4 of the output) on b".
  std::string NameOf(int process) const;
  std::string NamesOf(const std::vector<int>& processes) const;

 private:
  std::deque<ElasticProcess> processes_;  // References stay good as it grows.
};

}  // namespace weir::launcher
