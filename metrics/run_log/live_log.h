#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/long_poll.h"
#include "metrics/run_log/log_blocks.h"

namespace weir {

/// The newest blocks of a rank, for readers that follow it while it runs (/log). Their memory is
/// bounded, by level; what says who runs is kept. Thread-safe.
class LiveLog {
 public:
  static constexpr std::size_t kOverviewBytes = std::size_t{16} << 20;
  static constexpr std::size_t kDetailBytes = std::size_t{32} << 20;
  /// Of an answer, unless its first block is larger.
  static constexpr std::size_t kAnswerBytes = std::size_t{4} << 20;

  /// Wakes `poll`, which must outlive it, when there is news. `job`: JobId.
  LiveLog(int rank, std::string job, LongPoll& poll)
      : rank_(rank), job_(std::move(job)), poll_(poll) {}

  void Add(std::vector<LogBlock> blocks);
  /// Adds the last ones, and waits until who follows has them: not at all where nobody has asked
  /// for long, else at least as long as a follower rests between two requests, and at most two
  /// seconds for those that waited to ask again, behind the last block. False: not all have.
  bool End(std::vector<LogBlock> last);
  /// Who waits for news.
  int waiting() const;

  /// A FollowQuery: the blocks behind number `after`, which 0 makes all that are kept. Where blocks
  /// behind it were dropped, one of kind "gap" comes last: a reader has to hear first whose they
  /// were. Waits for a first one. Throws InvalidArgument for a query that is none.
  std::string Answer(std::string_view query);

 private:
  struct Shelf {
    std::size_t most_bytes = 0;  ///< 0: no bound.
    std::size_t bytes = 0;
    std::deque<LogBlock> blocks;
  };
  std::string After(std::uint64_t number) const;
  std::uint64_t newest() const;

  const int rank_;
  const std::string job_;
  LongPoll& poll_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::map<LogBlock::Level, Shelf> shelves_ = {
      {LogBlock::Level::kLasting, {}},
      {LogBlock::Level::kOverview, {.most_bytes = kOverviewBytes}},
      {LogBlock::Level::kDetail, {.most_bytes = kDetailBytes}}};
  std::uint64_t newest_ = 0;
  std::int64_t asked_ns_ = 0;  ///< The last time; 0: never.
  int waiting_ = 0;
  std::uint64_t end_ = 0;  ///< Number of the last block; 0: there will be more.
  int told_ = 0;           ///< Have asked behind that.
  std::condition_variable any_told_;
};

}  // namespace weir
