#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/supervision/meeting.h"
#include "launcher/job/job.h"

namespace weir::launcher {

/// The ranks of an elastic job that share a network, from when they are dealt their places until
/// one of them is lost. Numbers are ranks where the name says so, and otherwise processes. Does no
/// input or output but to send. Not thread-safe.
class Epoch {
 public:
  explicit Epoch(Job::Send send) : send_(std::move(send)) {}

  /// Counts from 1; 0 before the first.
  int number() const { return number_; }
  /// True until somebody has ended the epoch for all.
  bool whole() const { return whole_; }
  /// Returns -1 for a process that is not in it, or not any more.
  int RankOf(int process) const;
  /// Returns nothing for a number that no rank of it has, or not any more.
  std::optional<int> ProcessOf(int rank) const;
  bool joined(int process) const;
  std::vector<int> Present() const;
  /// The present ones that have not met the others yet.
  std::vector<int> Unmet() const;

  struct Seat {
    int process;
    std::string host;
  };
  /// Begins the next epoch: tells each process its place. `seats` are by rank.
  void Deal(const std::vector<Seat>& seats);
  /// Takes the address of a process, and sends those of all once they have come.
  void Bring(int process, const std::string& address);
  void Join(int process);
  void Remove(int process);
  /// Ends the epoch: tells the others than `process`.
  void Break(int process, const supervision::Message& message);
  void Tell(const supervision::Message& message) const;
  void TellRank(int rank, const supervision::Message& message) const;

 private:
  struct Member {
    int process;
    bool present = true;
    bool joined = false;
  };

  Job::Send send_;
  int number_ = 0;
  bool whole_ = false;
  std::vector<Member> members_;           // By rank.
  std::unordered_map<int, int> rank_of_;  // Of the processes that are present.
  std::optional<supervision::Meeting> meeting_;
};

}  // namespace weir::launcher
