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

#include "metrics/http/long_poll.h"
#include "metrics/run_log/log_blocks.h"

namespace weir {

/// The newest blocks of a rank, for readers that follow it while it runs (/log). Their memory is
/// bounded, by level; blocks that identify the run are kept. Thread-safe.
class LiveLog {
 public:
  static constexpr std::size_t kChangeBytes = std::size_t{4} << 20;
  static constexpr std::size_t kOverviewBytes = std::size_t{16} << 20;
  static constexpr std::size_t kDetailBytes = std::size_t{32} << 20;
  /// Most bytes of an answer, unless its first block is larger.
  static constexpr std::size_t kAnswerBytes = std::size_t{4} << 20;

  /// Wakes `poll`, which must outlive it, when there is news. `job`: JobId.
  LiveLog(int rank, std::string job, LongPoll& poll)
      : rank_(rank), job_(std::move(job)), poll_(poll) {}

  void Add(std::vector<LogBlock> blocks);
  /// Adds the last blocks, and waits until followers have them. Does not wait if nobody has asked
  /// for long. Otherwise waits at least as long as a follower rests between requests, and at most
  /// two seconds for waiting ones to ask again after the last block. False: not all have them.
  bool End(std::vector<LogBlock> last);
  /// Number of readers that wait for news.
  int waiting() const;

  /// Answers a FollowQuery with the blocks after number `after`; 0 means all that are kept. If
  /// blocks after it were dropped, one of kind "gap" comes last, because a reader must first hear
  /// whose they were. Waits for the first block. Throws InvalidArgument for an invalid query.
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
  mutable std::mutex mutex_;  // Guards all members below.
  std::map<LogBlock::Level, Shelf> shelves_ = {
      {LogBlock::Level::kLasting, {}},
      {LogBlock::Level::kChange, {.most_bytes = kChangeBytes}},
      {LogBlock::Level::kOverview, {.most_bytes = kOverviewBytes}},
      {LogBlock::Level::kDetail, {.most_bytes = kDetailBytes}}};
  std::uint64_t newest_ = 0;
  std::int64_t asked_ns_ = 0;  ///< Time of the last question; 0: never.
  int waiting_ = 0;
  std::uint64_t end_ = 0;  ///< Number of the last block; 0: there will be more.
  int told_ = 0;           ///< Followers that have asked after it.
  std::condition_variable any_told_;
};

}  // namespace weir
