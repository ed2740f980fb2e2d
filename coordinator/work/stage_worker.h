#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weir {

class Bucket;

/// Queue of buckets, first in, first out; closed once. Thread-safe.
class StageQueue {
 public:
  /// Adds a bucket. False if the queue is closed.
  bool Push(Bucket* bucket);
  /// Takes a bucket, or waits for one. Null if the queue was closed.
  Bucket* Pop();
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Bucket*> buckets_;
  bool closed_ = false;
};

/// A thread that takes buckets from a queue and runs their stages. Joins when destroyed; close the
/// queue first.
class StageWorker {
 public:
  StageWorker(int index, StageQueue* queue, std::function<void(Bucket*)> run);

 private:
  std::jthread thread_;
};

}  // namespace weir
