#include "metrics/run_log/live_log.h"

#include <algorithm>
#include <chrono>

#include "common/clock.h"
#include "metrics/follow_query.h"
#include "metrics/run_log/block.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kLongestPause{2};  // Of a follower, between two requests.

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

std::uint64_t LiveLog::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

bool LiveLog::IsFollowed(std::int64_t now_ns) const {
  using std::chrono::nanoseconds;
  constexpr std::int64_t kPatienceNs = nanoseconds(LongPoll::kLongest + kLongestPause).count();
  const std::lock_guard lock(mutex_);
  return asked_ns_ != 0 && now_ns - asked_ns_ <= kPatienceNs;
}

void LiveLog::NoteAsked() {
  const std::lock_guard lock(mutex_);
  asked_ns_ = NowNs();
}

std::string LiveLog::Answer(std::string_view query) {
  const FollowQuery asked = ParseFollowQuery(query, job_, newest());
  NoteAsked();
  poll_.Wait(asked.wait, [&] { return newest() > asked.after; });
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
