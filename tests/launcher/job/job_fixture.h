#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "launcher/job/fixed_job.h"

namespace weir::launcher {

using Ranks = std::vector<int>;

constexpr int Exit(int code) { return code << 8; }

/// Tells a job that mpiexec, which started these ranks, has ended.
inline void EndMpiexec(Job& job, int wait_status, Time now, const Ranks& ranks = {0, 1, 2}) {
  job.OnStarterEnded("mpiexec", ranks, "what goes to mpiexec (--mpi-args)?", wait_status, now);
}

/// A job of three ranks on two hosts, whose clock and messages the test makes.
class JobTest : public testing::Test {
 protected:
  using Message = supervision::Message;
  using MessageType = supervision::MessageType;

  JobTest()
      : job_(RankPlaces({"a", "a", "b"}), JobPolicy{}, now_,
             [this](int rank, const Message& message) { sent_.emplace_back(rank, message); }) {}

  void Say(int rank, MessageType type, int code = 0, const std::string& text = {}) {
    job_.OnMessage(rank, {.type = type, .code = code, .text = text}, now_);
  }
  void StartAll() {
    for (int rank = 0; rank < 3; ++rank) {
      Say(rank, MessageType::kHello);
      Join(rank);
    }
    sent_.clear();
  }
  void Join(int rank) {
    Say(rank, MessageType::kAttach);
    Say(rank, MessageType::kJoined);
  }
  void Pass(std::chrono::milliseconds time) {
    now_ += time;
    job_.Tick(now_);
  }
  /// Returns the ranks that were sent a message of this type since the last question.
  Ranks Told(MessageType type) {
    Ranks ranks;
    for (const auto& [rank, message] : sent_) {
      if (message.type == type) ranks.push_back(rank);
    }
    return ranks;
  }
  Message Last() { return sent_.back().second; }

  Time now_{};
  std::vector<std::pair<int, Message>> sent_;
  FixedJob job_;
};

}  // namespace weir::launcher
