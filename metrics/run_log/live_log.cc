#include "metrics/run_log/live_log.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/clock.h"
#include "metrics/http/follow_query.h"
#include "metrics/run_log/block.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRest{300};   // Longest pause of a follower between two requests.
constexpr milliseconds kMost{2000};  // For the ends of slow networks.
// A reader that has not asked for so long is not a follower.
constexpr milliseconds kLongAgo = LongPoll::kLongest + milliseconds(2000);

}  // namespace

void LiveLog::Add(std::vector<LogBlock> blocks) {
  if (blocks.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (LogBlock& block : blocks) {
      newest_ = block.number;
      Shelf& shelf = shelves_.at(block.level);
      shelf.bytes += block.bytes.size();
      shelf.blocks.push_back(std::move(block));
      while (shelf.most_bytes != 0 && shelf.bytes > shelf.most_bytes) {
        shelf.bytes -= shelf.blocks.front().bytes.size();
        shelf.blocks.pop_front();
      }
    }
  }
  poll_.Wake();
}

bool LiveLog::End(std::vector<LogBlock> last) {
  std::unique_lock lock(mutex_);
  const int waiting = waiting_;
  const bool is_followed =
      asked_ns_ != 0 && std::chrono::nanoseconds(NowNs() - asked_ns_) < kLongAgo;
  end_ = last.empty() ? newest_ : last.back().number;
  lock.unlock();
  Add(std::move(last));
  if (!is_followed) return true;
  const auto now = std::chrono::steady_clock::now();
  lock.lock();
  const bool all_told = any_told_.wait_until(lock, now + kMost, [&] { return told_ >= waiting; });
  lock.unlock();
  std::this_thread::sleep_until(now + kRest);
  return all_told;
}

int LiveLog::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

std::uint64_t LiveLog::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::string LiveLog::Answer(std::string_view query) {
  const FollowQuery asked = ParseFollowQuery(query, job_, newest());
  {
    const std::lock_guard lock(mutex_);
    asked_ns_ = NowNs();
    ++waiting_;
    if (end_ != 0 && asked.after >= end_) ++told_;
  }
  any_told_.notify_all();
  poll_.Wait(asked.wait, [&] { return newest() > asked.after; });
  {
    const std::lock_guard lock(mutex_);
    --waiting_;
  }
  return After(asked.after);
}

std::string LiveLog::After(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  std::vector<const LogBlock*> blocks;
  for (const auto& [level, shelf] : shelves_) {
    const auto first = std::ranges::upper_bound(shelf.blocks, number, {}, &LogBlock::number);
    for (auto block = first; block != shelf.blocks.end(); ++block) blocks.push_back(&*block);
  }
  std::ranges::sort(blocks, {}, &LogBlock::number);

  std::string answer;
  std::uint64_t taken = 0;
  std::uint64_t last = number;
  for (const LogBlock* block : blocks) {
    if (taken > 0 && answer.size() + block->bytes.size() > kAnswerBytes) break;
    answer += block->bytes;
    last = block->number;
    ++taken;
  }
  const std::uint64_t dropped = last - number - taken;
  if (dropped == 0) return answer;
  return answer + RunLogBlock("gap", rank_).Note("blocks", dropped).Text("").Bytes();
}

}  // namespace weir
