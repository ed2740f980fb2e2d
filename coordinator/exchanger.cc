#include "coordinator/exchanger.h"

#include "coordinator/operation_numbers.h"

namespace weir {

Exchanger::Exchanger(std::size_t most_at_once, std::function<void(Bucket*)> finished)
    : most_at_once_(most_at_once), finished_(std::move(finished)) {}

void Exchanger::Enqueue(Bucket* bucket) { queue_.push_back(bucket); }

bool Exchanger::StartNext(std::int64_t now_ns) {
  if (queue_.empty() || active_.size() >= most_at_once_ || !queue_.front()->staged) return false;
  Bucket* bucket = queue_.front();
  queue_.pop_front();
  bucket->exchange_ns = now_ns;
  Collective* collective = bucket->BindExchange();
  const std::uint32_t number = kFirstExchange + next_number_;
  next_number_ = (next_number_ + 1) % kExchangeNumbers;
  if (collective == nullptr) {
    finished_(bucket);
    return true;
  }
  active_.push_back({bucket, collective});  // Also when Start throws: Cancel has to see it.
  collective->Start(number);
  return true;
}

bool Exchanger::Poll(std::int64_t now_ns) {
  bool moved = false;
  while (StartNext(now_ns)) moved = true;
  for (std::size_t i = 0; i < active_.size();) {
    if (!active_[i].collective->Poll()) {
      ++i;
      continue;
    }
    Bucket* bucket = active_[i].bucket;
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    finished_(bucket);
    moved = true;
  }
  return moved;
}

void Exchanger::Cancel() {
  for (const Active& active : active_) active.collective->Cancel();
  active_.clear();
  queue_.clear();
}

}  // namespace weir
