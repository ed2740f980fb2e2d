#include "coordinator/servers/asynchronous_bucket.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

AsynchronousBucket::AsynchronousBucket(Description description, std::int64_t max_staleness)
    : ServedBucket(std::move(description)), max_staleness_(max_staleness), workers_(workers()) {
  WEIR_CHECK(max_staleness >= 1);
  for (Worker& worker : workers_) {
    for (const Partition& partition : about().partitions)
      worker.boxes.emplace_back(partition.elements);
  }
}

void AsynchronousBucket::Take(int worker, std::span<const std::byte> frame,
                              std::vector<Answer>& due) {
  Worker& from = workers_.at(static_cast<std::size_t>(worker));
  if (from.waits) Refuse(worker, "it was pushed twice in step " + std::to_string(from.pushed));
  Pushed pushed = Read(worker, frame);
  if (pushed.step <= from.pushed) {
    Refuse(worker, "its step is " + std::to_string(pushed.step) + ", after step " +
                       std::to_string(from.pushed));
  }
  if (pushed.empty) Refuse(worker, "it contributes nothing");
  if (!std::exchange(begun_, true)) {
    // All workers begin with the same step.
    for (Worker& other : workers_) other.pushed = pushed.step - 1;
  }
  for (std::size_t i = 0; i < partitions().size(); ++i) {
    for (Worker& other : workers_)
      partitions()[i].reader->Merge(pushed.payloads[i], other.boxes[i]);
  }
  from.pushed = pushed.step;
  from.waits = std::move(pushed);
  const std::int64_t by_all = PushedByAll();
  for (int w = 0; w < about().workers; ++w) {
    const Worker& other = workers_[static_cast<std::size_t>(w)];
    if (other.waits && by_all >= other.waits->step - max_staleness_) due.push_back(Empty(w));
  }
  CheckThatNobodyWaitsInVain();
}

void AsynchronousBucket::Finish(int worker) {
  workers_.at(static_cast<std::size_t>(worker)).finished = true;
  CheckThatNobodyWaitsInVain();
}

void AsynchronousBucket::CheckThatNobodyWaitsInVain() const {
  const std::int64_t by_all = PushedByAll();
  const auto late = std::ranges::find_if(workers_, [by_all](const Worker& worker) {
    return worker.finished && worker.pushed == by_all;
  });
  const auto waits =
      std::ranges::find_if(workers_, [](const Worker& worker) { return worker.waits.has_value(); });
  if (late == workers_.end() || waits == workers_.end()) return;
  const auto rank = [this](auto worker) { return std::to_string(worker - workers_.begin()); };
  throw ShutDown("rank " + rank(waits) + " waits in step " + std::to_string(waits->waits->step) +
                     " of '" + about().name + "' for rank " + rank(late) +
                     ", which takes no step after step " + std::to_string(late->pushed) +
                     " (max_staleness is " + std::to_string(max_staleness_) +
                     "); give all ranks the same number of steps",
                 {about().name, {static_cast<int>(late - workers_.begin())}, "exchange"});
}

std::int64_t AsynchronousBucket::PushedByAll() const {
  return std::ranges::min(workers_, {}, &Worker::pushed).pushed;
}

ServedBucket::Answer AsynchronousBucket::Empty(int w) {
  Worker& worker = workers_[static_cast<std::size_t>(w)];
  const auto ranks = static_cast<float>(about().workers);
  for (std::vector<float>& box : worker.boxes) {
    for (float& value : box) value /= ranks;
  }
  const std::size_t bytes =
      WriteAnswer(*worker.waits, static_cast<std::size_t>(w), worker.boxes, worker.answer);
  for (std::vector<float>& box : worker.boxes) std::ranges::fill(box, 0.0f);
  worker.waits.reset();
  return {w, std::span(worker.answer).first(bytes)};
}

}  // namespace weir
