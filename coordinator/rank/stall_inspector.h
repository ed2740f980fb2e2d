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
  /// The ranks of a process set; none: there is no such set any more.
  using RanksOf = std::function<std::vector<int>(int process_set)>;

  /// `membership` may be null: then a rank can only say what it waits for itself.
  StallInspector(const Settings& settings, int rank, int size, Membership* membership,
                 RanksOf ranks_of);

  /// Whether it is time for Check.
  bool due(std::int64_t now_ns) const { return enabled_ && now_ns >= next_check_ns_; }

  /// Looks at what waits here. Returns the sentence the job ends with when the limit has passed.
  std::optional<std::string> Check(std::int64_t now_ns, const std::vector<Waiting>& waiting);

  /// What a rank is doing.
  struct Doing {
    std::vector<Waiting> waiting;
    std::string last_finished;  ///< Name of an operation; "": nothing yet.
    std::vector<int> joined;    ///< Process sets in which nobody waits for it.
  };
  /// Another rank (or this one) wants to know.
  void Answer(std::int64_t now_ns, const Doing& doing);
  /// Whether Check found that a wait is over of which this rank has told in an answer.
  bool owes_end() const { return owes_end_; }
  /// When Check has to look, even if nothing else happens on this rank; 0: whenever.
  std::int64_t must_check_ns() const { return long_waits_.empty() ? 0 : next_check_ns_; }
  /// Tells rank 0 so.
  void TellEnd(std::int64_t now_ns, const Doing& doing);
  /// Rank 0: an answer, or what a rank tells unasked. Warns, however many ranks asked, once an
  /// interval. Returns the sentence the job ends with when the limit has passed.
  std::optional<std::string> OnStatus(std::int64_t now_ns, int rank, const std::string& status);

  /// How many tensors that wait on this rank are.
  std::int64_t stalled() const { return stalled_; }
  /// Rank 0: what is stalled in the job, by the newest answers of all ranks.
  Stalls stalls() const { return list_.stalls(); }
  /// Whether it has waited so long that Check counts it as stalled.
  bool IsStalled(const Waiting& entry, std::int64_t now_ns) const {
    return now_ns - entry.since_ns >= first_limit_ns_;
  }

  /// "ranks [...] did not answer what they are doing"; "" when all did, when nobody was asked, and
  /// on ranks that hear no answers.
  std::string Silent() const;

 private:
  using Tensor = RankStatus::Tensor;
  /// What waits here for so long that rank 0 may have put it on its list.
  using LongWait = std::pair<Tensor, std::int64_t>;  // Since when.
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
  const std::int64_t warning_ns_;
  const std::int64_t shutdown_ns_;
  const std::int64_t first_limit_ns_;  ///< The sooner of the two.
  const std::int64_t long_wait_ns_;  ///< Once anything is stalled, the list has what waits so long.
  const int size_;
  Membership* const membership_;
  const RanksOf ranks_of_;
  const int rank_;
  std::int64_t next_check_ns_ = 0;
  std::int64_t next_request_ns_ = 0;
  std::int64_t over_since_ns_ = 0;  ///< When the limit was found to have passed; 0: it has not.
  std::int64_t next_warning_ns_ = 0;
  std::int64_t stalled_ = 0;
  bool asked_ = false;             ///< The current request has not been answered by all.
  std::map<int, Heard> statuses_;  ///< Of the current request, by rank.
  std::set<int> answered_;         ///< Who has answered it.
  StallList list_;
  std::set<LongWait> long_waits_;
  bool told_ = false;  ///< In an answer, of long_waits_.
  bool owes_end_ = false;
};

}  // namespace weir
