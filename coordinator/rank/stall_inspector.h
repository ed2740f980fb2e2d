#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/rank/rank_status.h"
#include "coordinator/rank/stall_limits.h"
#include "coordinator/rank/stall_list.h"
#include "ops/membership/membership.h"
#include "weir/settings.h"

namespace weir {

/// Finds out who holds the others up. A rank that has waited too long for agreement asks every rank
/// what it waits for; the answers go to rank 0 over the membership channel, because the AND of the
/// rounds cannot say who is missing. Rank 0 puts them together, warns, and at the limit ends the
/// job. Network thread only.
class StallInspector {
 public:
  /// Something that is complete on this rank and not agreed on.
  struct Waiting {
    std::string name;
    std::int64_t since_ns = 0;
    int process_set = 0;
  };
  /// Returns the ranks of a process set; none if there is no such set any more.
  using RanksOf = std::function<std::vector<int>(int process_set)>;

  /// Works without `membership` (null) too: then a rank can only say what it waits for itself.
  StallInspector(const Settings& settings, int rank, int size, Membership* membership,
                 RanksOf ranks_of);

  /// True if it is time for Check.
  bool due(std::int64_t now_ns) const { return enabled_ && now_ns >= next_check_ns_; }

  /// Looks at what waits here. Returns the sentence the job ends with if the limit has passed.
  std::optional<std::string> Check(std::int64_t now_ns, const std::vector<Waiting>& waiting);

  /// Activity of a rank.
  struct Doing {
    std::vector<Waiting> waiting;
    std::string last_finished;  ///< Name of an operation; "": nothing yet.
    std::vector<int> joined;    ///< Process sets in which nobody waits for it.
  };
  /// Answers another rank (or this one) that wants to know.
  void Answer(std::int64_t now_ns, const Doing& doing);
  /// True if Check found that a wait is over which this rank has reported in an answer.
  bool owes_end() const { return owes_end_; }
  /// Returns the time of the Check that is due even if nothing else happens here; 0: none is.
  std::int64_t must_check_ns() const { return long_waits_.empty() ? 0 : next_check_ns_; }
  /// Tells rank 0 that such a wait is over.
  void TellEnd(std::int64_t now_ns, const Doing& doing);
  /// Takes in an answer, or what a rank tells unasked; rank 0 only. Warns once an interval, however
  /// many ranks asked. Returns the sentence the job ends with if the limit has passed.
  std::optional<std::string> OnStatus(std::int64_t now_ns, int rank, const std::string& status);

  /// Returns how many of the tensors that wait on this rank are stalled.
  std::int64_t stalled() const { return stalled_; }
  /// Returns what is stalled in the job, by the newest answers of all ranks; rank 0 only.
  Stalls stalls() const { return list_.stalls(); }
  /// True if it has waited so long that Check counts it as stalled.
  bool IsStalled(const Waiting& entry, std::int64_t now_ns) const {
    return now_ns - entry.since_ns >= first_limit_ns_;
  }

  /// Returns "ranks [...] did not answer what they are doing"; "" if all did, if none were asked,
  /// and on ranks that hear no answers.
  std::string Silent() const;

 private:
  using Tensor = RankStatus::Tensor;
  /// A wait here that is so long that rank 0 may have put the tensor on its list.
  using LongWait = std::pair<Tensor, std::int64_t>;  // Tensor and start of the wait.
  struct Heard {
    RankStatus status;
    std::int64_t time_ns = 0;
  };
  void NoteLongWaits(std::int64_t now_ns, const std::vector<Waiting>& waiting);
  std::string StatusText(std::int64_t now_ns, const Doing& doing, bool is_answer) const;
  void DropOldAnswers(std::int64_t now_ns);
  std::optional<std::string> Report(std::int64_t now_ns);
  bool EveryRankHas(const Tensor& tensor) const;
  std::string Describe(const StallList::Entry& entry) const;
  StallList::Entry EntryOf(const Tensor& tensor, std::int64_t now_ns) const;
  const bool enabled_;
  const StallLimits limits_;
  const std::int64_t first_limit_ns_;  ///< The sooner of the two.
  const std::int64_t long_wait_ns_;    ///< Least wait in the list, once anything is stalled.
  const int size_;
  Membership* const membership_;
  const RanksOf ranks_of_;
  const int rank_;
  std::int64_t next_check_ns_ = 0;
  std::int64_t next_request_ns_ = 0;
  std::int64_t over_since_ns_ = 0;  ///< Time when the limit was found passed; 0: it was not.
  std::int64_t next_warning_ns_ = 0;
  std::int64_t stalled_ = 0;
  bool asked_ = false;             ///< The current request has not been answered by all.
  std::map<int, Heard> statuses_;  ///< Answers to the current request, by rank.
  std::set<int> answered_;         ///< Ranks that have answered it.
  StallList list_;
  std::set<LongWait> long_waits_;
  bool told_ = false;  ///< True: an answer has reported long_waits_.
  bool owes_end_ = false;
};

}  // namespace weir
