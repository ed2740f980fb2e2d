#include "coordinator/work/exchanger.h"

#include <algorithm>
#include <utility>

#include "coordinator/work/operation_numbers.h"

namespace weir {

Exchanger::Exchanger(std::size_t most_at_once, std::function<void(LiveRun&)> finished,
                     ExchangeMeter meter)
    : most_at_once_(most_at_once), finished_(std::move(finished)), meter_(std::move(meter)) {}

void Exchanger::Enqueue(LiveRun& run) { queue_.push_back(&run); }

bool Exchanger::under_way() const {
  return std::ranges::any_of(active_, [](const Active& a) { return a.collective != nullptr; });
}

bool Exchanger::Poll(std::int64_t now_ns) {
  bool moved = false;
  while (StartNext(now_ns)) moved = true;
  for (std::size_t i = 0; i < active_.size();) {
    const std::size_t before = active_.size();
    moved = PollActive(i, now_ns) || moved;
    if (active_.size() == before) ++i;
  }
  return moved;
}

bool Exchanger::StartNext(std::int64_t now_ns) {
  if (queue_.empty() || active_.size() >= most_at_once_ || !queue_.front()->staged) return false;
  LiveRun* run = queue_.front();
  queue_.pop_front();
  const auto exchanges = std::ranges::count(run->bucket->stages(), BucketStage::kExchange);
  active_.push_back({run, exchanges, next_number_});
  next_number_ = (next_number_ + static_cast<std::uint32_t>(exchanges)) % kExchangeNumbers;
  Start(active_.size() - 1, now_ns);
  return true;
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
  const std::uint32_t number = active.next_number;
  active.next_number = (number + 1) % kExchangeNumbers;
  if (active.collective == nullptr) return Finish(index);
  if (meter_.network != nullptr) {
    active.use = meter_.use_of(*run.bucket);
    CountPayload(active, static_cast<std::int64_t>(run.bucket->traffic().wire_bytes));
  }
  Count(active);
  if (meter_.speed != nullptr)
    meter_.speed->Begin(meter_.clock(), meter_.network->bytes_to_other_hosts());
  active.collective->Start(kFirstExchange + number);
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
}

}  // namespace weir
