#include "coordinator/servers/summation_server.h"

#include <algorithm>
#include <utility>

#include "common/threads/background_thread.h"
#include "common/threads/thread_name.h"
#include "compression/wire/frame.h"
#include "coordinator/gradients/corrupt_frame.h"
#include "ops/exchanges/frame_exchange.h"
#include "ops/push_pull/server_messages.h"
#include "weir/error.h"

namespace weir {

SummationServer::SummationServer(Transport& lane, const ServerPlace& place,
                                 std::function<void()> wake)
    : lane_(lane),
      place_(place),
      wake_(std::move(wake)),
      controls_(static_cast<std::size_t>(place.workers)) {
  for (int w = 0; w < place_.workers; ++w) {
    Control& control = controls_[static_cast<std::size_t>(w)];
    control.buffer =
        std::make_unique_for_overwrite<std::byte[]>(server_messages::kMostControlBytes);
    control.receive.Receive(lane_, w, server_messages::kControl,
                            {control.buffer.get(), server_messages::kMostControlBytes});
  }
  adder_ = std::jthread([this](const std::stop_token& stop) { Add(stop); });
}

SummationServer::~SummationServer() { Cancel(); }

bool SummationServer::Poll() {
  bool moved = TakeResults();
  for (int w = 0; w < place_.workers; ++w) moved = PollControl(w) || moved;
  for (auto group = groups_.begin(); group != groups_.end();) {
    for (int w = 0; w < place_.workers; ++w) moved = PollWorker(*group, w) || moved;
    if (!Unused(*group)) {
      ++group;
      continue;
    }
    for (Group::Worker& worker : group->workers) worker.receive.Cancel(lane_);
    group = groups_.erase(group);
  }
  return moved;
}

bool SummationServer::PollControl(int w) {
  Control& control = controls_[static_cast<std::size_t>(w)];
  if (control.left || !control.receive.Done(lane_)) return false;
  OnControl(w, {control.buffer.get(), control.receive.bytes()});
  if (!control.left) {
    control.receive.Receive(lane_, w, server_messages::kControl,
                            {control.buffer.get(), server_messages::kMostControlBytes});
  }
  return true;
}

void SummationServer::OnControl(int w, std::span<const std::byte> bytes) {
  const ControlMessage message = ReadControlMessage(bytes);
  Control& control = controls_[static_cast<std::size_t>(w)];
  using enum ControlMessage::Kind;
  if (message.kind == kRegister) return Register(w, message.group);
  // Messages of different workers have no order: the group may not be registered yet.
  if (message.kind == kRelease) control.released.insert(message.group.first_number);
  if (message.kind == kFinish) control.finished = true;
  if (message.kind == kLeave) control.left = true;
  if (message.kind != kFinish) return;
  for (Group& group : groups_) Finish(group, w);
}

void SummationServer::CheckNumbers(const ServedGroup& group) const {
  const auto refuse = [&](const std::string& why) {
    throw Corrupt("the gradient group '" + group.name + "' cannot be served: its numbers " + why);
  };
  const std::uint64_t end = group.first_number + std::uint64_t{group.buckets.size()};
  if (end > lane_.operation_numbers()) refuse("are beyond all");
  for (const Group& other : groups_) {
    const std::uint64_t first = other.served.first_number;
    if (group.first_number < first + other.served.buckets.size() && first < end) {
      refuse("are those of '" + other.served.name + "'");
    }
  }
}

void SummationServer::Register(int from, const GroupDescription& description) {
  if (from != 0) {
    throw Corrupt("rank " + std::to_string(from) + " registered '" + description.spec.name +
                  "' with a server, which is rank 0's business");
  }
  ServedGroup served = MakeServedGroup(description, place_);
  CheckNumbers(served);
  Group& group = groups_.emplace_back();
  group.served = std::move(served);
  for (const auto& bucket : group.served.buckets) {
    if (bucket) group.most = std::max(group.most, bucket->max_push_bytes());
  }
  group.most = std::min(group.most, FrameExchange::kMostBytes);
  group.workers.resize(static_cast<std::size_t>(place_.workers));
  for (int w = 0; w < place_.workers; ++w) {
    Group::Worker& worker = group.workers[static_cast<std::size_t>(w)];
    worker.pushes.resize(group.served.buckets.size());
    worker.buffer = std::make_unique_for_overwrite<std::byte[]>(group.most);
    Receive(group, w);
    if (controls_[static_cast<std::size_t>(w)].finished) Finish(group, w);
  }
}

void SummationServer::Finish(Group& group, int w) { Give({&group, {}, w, {}, nullptr}); }

void SummationServer::Give(Task task) {
  {
    std::lock_guard lock(mutex_);
    ++task.group->tasks;
    tasks_.push_back(std::move(task));
  }
  more_.notify_one();
}

void SummationServer::Receive(Group& group, int w) {
  Group::Worker& worker = group.workers[static_cast<std::size_t>(w)];
  worker.receive.Receive(lane_, w, server_messages::Push(group.served.first_number),
                         {worker.buffer.get(), group.most});
}

bool SummationServer::PollWorker(Group& group, int w) {
  Group::Worker& worker = group.workers[static_cast<std::size_t>(w)];
  if (!worker.arrived && !worker.receive.Done(lane_)) return false;
  worker.arrived = true;
  const std::size_t bucket = BucketOf(group, w);
  // A worker that pushes again has its answer; the network may still hold on to it.
  if (!worker.pushes[bucket].answer.Done(lane_)) return false;
  Hand(group, w, bucket);
  worker.arrived = false;
  Receive(group, w);
  return true;
}

std::size_t SummationServer::BucketOf(const Group& group, int w) const {
  const Group::Worker& worker = group.workers[static_cast<std::size_t>(w)];
  const auto refuse = [&](const std::string& why) {
    throw CorruptFrame(PushOf(w), group.served.name, w, why, "exchange");
  };
  std::size_t bucket = 0;
  try {
    bucket = PeekFrameHeader({worker.buffer.get(), worker.receive.bytes()}).bucket;
  } catch (const Corrupt& error) {
    refuse(error.what());
  }
  if (bucket >= worker.pushes.size() || !group.served.buckets[bucket]) {
    refuse("this server has no part of bucket " + std::to_string(bucket));
  }
  if (worker.pushes[bucket].held) {
    refuse("bucket " + std::to_string(bucket) + " came again before it was answered");
  }
  return bucket;
}

void SummationServer::Hand(Group& group, int w, std::size_t bucket) {
  Group::Worker& worker = group.workers[static_cast<std::size_t>(w)];
  Push& push = worker.pushes[bucket];
  push.held = true;
  push.frame.assign(worker.buffer.get(), worker.buffer.get() + worker.receive.bytes());
  Give({&group, bucket, w, {}, nullptr});
}

bool SummationServer::Answered(Group& group) {
  if (group.tasks > 0) return false;
  for (Group::Worker& worker : group.workers) {
    if (worker.arrived) return false;
    for (Push& push : worker.pushes) {
      if (push.held || !push.answer.Done(lane_)) return false;
    }
  }
  return true;
}

bool SummationServer::Unused(Group& group) {
  const auto released = [&group](const Control& control) {
    return control.left || control.released.contains(group.served.first_number);
  };
  return std::ranges::all_of(controls_, released) && Answered(group);
}

bool SummationServer::answered_all() {
  return std::ranges::all_of(groups_, [this](Group& group) { return Answered(group); });
}

bool SummationServer::over() const {
  return groups_.empty() && std::ranges::all_of(controls_, &Control::left);
}

void SummationServer::Cancel() {
  adder_.request_stop();
  if (adder_.joinable()) adder_.join();
  for (Control& control : controls_) control.receive.Cancel(lane_);
  for (Group& group : groups_) {
    for (Group::Worker& worker : group.workers) {
      worker.receive.Cancel(lane_);
      for (Push& push : worker.pushes) push.answer.Cancel(lane_);
    }
  }
  groups_.clear();
}

void SummationServer::Add(const std::stop_token& stop) {
  NameThread("weir-server");
  WorkInBackground();
  std::vector<Task> mine;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!more_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
      mine.swap(tasks_);
    }
    for (Task& task : mine) {
      try {
        Do(task, task.due);
      } catch (...) {
        task.error = std::current_exception();
      }
      {
        std::lock_guard lock(mutex_);
        results_.push_back(std::move(task));
      }
      wake_();
    }
    mine.clear();
  }
}

void SummationServer::Do(const Task& task, std::vector<ServedBucket::Answer>& due) {
  const auto& buckets = task.group->served.buckets;
  if (task.bucket) {
    const Group::Worker& worker = task.group->workers[static_cast<std::size_t>(task.worker)];
    return buckets[*task.bucket]->Take(task.worker, worker.pushes[*task.bucket].frame, due);
  }
  for (const auto& bucket : buckets) {
    if (bucket) bucket->Finish(task.worker);
  }
}

bool SummationServer::TakeResults() {
  {
    std::lock_guard lock(mutex_);
    taken_.swap(results_);
  }
  for (const Task& task : taken_) {
    if (task.error) std::rethrow_exception(task.error);
    Group& group = *task.group;
    --group.tasks;
    for (const ServedBucket::Answer& answer : task.due) {
      const std::size_t bucket = task.bucket.value();
      Push& push = group.workers[static_cast<std::size_t>(answer.worker)].pushes[bucket];
      push.held = false;
      const std::uint32_t number = group.served.first_number + static_cast<std::uint32_t>(bucket);
      push.answer.Send(lane_, answer.worker, server_messages::Answer(number), answer.frame);
    }
  }
  const bool moved = !taken_.empty();
  taken_.clear();
  return moved;
}

}  // namespace weir
