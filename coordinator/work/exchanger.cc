#include "coordinator/work/exchanger.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "coordinator/work/operation_numbers.h"

namespace weir {

namespace {

std::uint32_t NumberOf(const Bucket& bucket, std::uint64_t place) {
  return bucket.overtakes()
             ? kFirstOvertaking + static_cast<std::uint32_t>(place % kOvertakingNumbers)
             : kFirstExchange + static_cast<std::uint32_t>(place % kExchangeNumbers);
}

}  // namespace

Exchanger::Exchanger(Bounds bounds, std::function<void(LiveRun&)> finished, ExchangeMeter meter)
    : bounds_(bounds), finished_(std::move(finished)), meter_(std::move(meter)) {}

void Exchanger::Enqueue(LiveRun& run) {
  const auto exchanges =
      static_cast<std::uint32_t>(std::ranges::count(run.bucket->stages(), BucketStage::kExchange));
  const bool overtakes = run.bucket->overtakes();
  if (overtakes) ++queued_overtaking_;
  std::uint64_t& next_place = next_place_[overtakes ? 1 : 0];
  queue_.push_back({&run, exchanges, next_place});
  next_place += exchanges;
}

bool Exchanger::under_way() const {
  return std::ranges::any_of(active_, [](const Active& a) { return a.collective != nullptr; });
}

bool Exchanger::Poll(std::int64_t now_ns) {
  bool moved = false;
  while (StartNext(now_ns)) moved = true;
  ShareCredit();
  for (std::size_t i = 0; i < active_.size();) {
    const std::size_t before = active_.size();
    moved = PollActive(i, now_ns) || moved;
    if (active_.size() == before) ++i;
  }
  return moved;
}

bool Exchanger::HasNumbers(const Queued& queued) const {
  return std::ranges::all_of(active_, [&](const Active& active) {
    return !active.run->bucket->overtakes() ||
           queued.place + queued.exchanges < active.next_place + kOvertakingNumbers;
  });
}

std::deque<Exchanger::Queued>::iterator Exchanger::FindNext() {
  if (queue_.empty()) return queue_.end();
  const Queued& front = queue_.front();
  if (active_.size() < bounds_.at_once && front.run->staged &&
      (!front.run->bucket->overtakes() || HasNumbers(front))) {
    return queue_.begin();
  }
  // Every poll comes here, and thousands of operations may be queued.
  if (queued_overtaking_ == 0) return queue_.end();
  std::optional<int> highest;  // Of those that the next one would overtake.
  const auto note = [&highest](const Bucket& bucket) {
    highest = std::max(highest.value_or(bucket.priority()), bucket.priority());
  };
  for (const Active& active : active_) {
    if (active.run->bucket->overtakes()) note(*active.run->bucket);
  }
  for (auto next = queue_.begin(); next != queue_.end(); ++next) {
    const Bucket& bucket = *next->run->bucket;
    if (!bucket.overtakes()) continue;
    const bool is_urgent = !highest || bucket.priority() > *highest;
    if (is_urgent && next->run->staged && HasNumbers(*next)) return next;
    note(bucket);
  }
  return queue_.end();
}

bool Exchanger::StartNext(std::int64_t now_ns) {
  const auto next = FindNext();
  if (next == queue_.end()) return false;
  if (next->run->bucket->overtakes()) --queued_overtaking_;
  const Bucket& bucket = *next->run->bucket;
  const auto before = std::ranges::find_if(active_, [&bucket](const Active& active) {
    const Bucket& other = *active.run->bucket;
    return bucket.overtakes() && other.overtakes() && other.priority() < bucket.priority();
  });
  const auto at = active_.insert(before, {next->run, next->exchanges, next->place});
  queue_.erase(next);
  Start(static_cast<std::size_t>(at - active_.begin()), now_ns);
  return true;
}

void Exchanger::ShareCredit() {
  std::array<std::size_t, 2>
      posted{};  // By those before: of the ones that take turns, or overtake.
  std::array<bool, 2> is_first{true, true};
  for (const Active& active : active_) {
    if (active.collective == nullptr) continue;
    const std::size_t kind = active.run->bucket->overtakes() ? 1 : 0;
    const std::size_t left = bounds_.credit_bytes - std::min(posted[kind], bounds_.credit_bytes);
    active.collective->Limit(std::exchange(is_first[kind], false) ? Collective::kUnlimited : left);
    posted[kind] += active.collective->posted_bytes();
  }
}

bool Exchanger::PollActive(std::size_t index, std::int64_t now_ns) {
  const Active& active = active_[index];
  if (active.collective == nullptr) {
    if (!active.run->staged) return false;
    Start(index, now_ns);
    return true;
  }
  Count(active);
  if (!active.collective->Poll()) return false;
  Finish(index);
  return true;
}

void Exchanger::Start(std::size_t index, std::int64_t now_ns) {
  Active& active = active_[index];
  LiveRun& run = *active.run;
  run.staged = false;
  run.exchange_ns = now_ns;
  active.collective = run.bucket->BindExchange(run.chunk_bytes);
  const std::uint64_t place = active.next_place++;
  if (active.collective == nullptr) return Finish(index);
  if (meter_.network != nullptr) {
    active.use = meter_.use_of(*run.bucket);
    CountPayload(active, static_cast<std::int64_t>(run.bucket->traffic().wire_bytes));
  }
  Count(active);
  if (meter_.speed != nullptr)
    meter_.speed->Begin(meter_.clock(), meter_.network->bytes_to_other_hosts());
  active.collective->Start(NumberOf(*run.bucket, place));
}

void Exchanger::Count(const Active& active) {
  if (meter_.network != nullptr) meter_.network->Begin(active.use);
}

void Exchanger::Finish(std::size_t index) {
  Active& active = active_[index];
  LiveRun& run = *active.run;
  if (active.collective != nullptr && meter_.network != nullptr) {
    meter_.network->CountElsewhere(active.collective->bytes_elsewhere());
  }
  if (active.collective != nullptr && meter_.speed != nullptr) {
    meter_.speed->End(meter_.clock(), meter_.network->bytes_to_other_hosts());
  }
  active.collective = nullptr;
  CountPayload(active, 0);
  if (--active.exchanges_left == 0)
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
  finished_(run);
}

void Exchanger::CountPayload(Active& active, std::int64_t bytes) {
  if (meter_.under_way_bytes == nullptr) return;
  *meter_.under_way_bytes += bytes - std::exchange(active.bytes, bytes);
}

void Exchanger::Cancel() {
  for (Active& active : active_) {
    CountPayload(active, 0);
    if (active.collective != nullptr) active.collective->Cancel();
  }
  active_.clear();
  queue_.clear();
  queued_overtaking_ = 0;
}

}  // namespace weir
