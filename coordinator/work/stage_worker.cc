#include "coordinator/work/stage_worker.h"

#include "common/gpu/gpu.h"
#include "common/threads/background_thread.h"
#include "common/threads/thread_name.h"

namespace weir {

bool StageQueue::Push(Bucket* bucket) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    buckets_.push_back(bucket);
  }
  filled_.notify_one();
  return true;
}

Bucket* StageQueue::Pop() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return closed_ || !buckets_.empty(); });
  if (closed_) return nullptr;
  Bucket* bucket = buckets_.front();
  buckets_.pop_front();
  return bucket;
}

void StageQueue::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  filled_.notify_all();
}

StageWorker::StageWorker(int index, StageQueue* queue, std::function<void(Bucket*)> run)
    : thread_([index, queue, run = std::move(run)] {
        NameThread("weir-stage-" + std::to_string(index));
        WorkInBackground();
        GpuScope::OwnThisThread();
        while (Bucket* bucket = queue->Pop()) run(bucket);
      }) {}

}  // namespace weir
