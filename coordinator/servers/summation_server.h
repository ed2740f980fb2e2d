#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "coordinator/servers/served_group.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// A summation server on the network: takes the workers' pushes, lets a thread of its own add them
/// up and compress the answers, and sends these. It negotiates nothing: workers tell what they
/// register, and the messages tell what they belong to (ops/push_pull/server_messages.h).
///
/// Network thread only.
class SummationServer {
 public:
  /// Workers are the first `place.workers` ranks of `lane`. The other thread calls `wake`
  /// when Poll has something to do.
  SummationServer(Transport& lane, const ServerPlace& place, std::function<void()> wake);
  ~SummationServer();

  /// Makes progress; true when something moved. Throws Corrupt that names bucket and
  /// worker, and the transport's errors.
  bool Poll();
  /// True if all workers have left, and nothing is under way.
  bool over() const;
  /// True if no push waits for its answer.
  bool answered_all();
  /// Abandons work under way; no buffer is touched once this returns.
  void Cancel();

 private:
  /// A worker's push of a bucket, until it is answered.
  struct Push {
    std::vector<std::byte> frame;
    bool held = false;
    Pending answer;
  };
  struct Group {
    ServedGroup served;
    std::size_t most = 0;  ///< Bytes of a pushed frame.
    struct Worker {
      std::unique_ptr<std::byte[]> buffer;
      Pending receive;
      bool arrived = false;      ///< A frame in the buffer waits until its bucket is free.
      std::vector<Push> pushes;  ///< By bucket.
    };
    std::vector<Worker> workers;
    std::size_t tasks = 0;  ///< Tasks whose results were not taken yet.
  };
  struct Control {
    std::unique_ptr<std::byte[]> buffer;
    Pending receive;
    std::set<std::uint32_t> released;  ///< First numbers of groups.
    bool finished = false;
    bool left = false;
  };
  /// Work for the other thread, and its result.
  struct Task {
    Group* group;
    std::optional<std::size_t> bucket;  ///< None: the worker has finished.
    int worker;
    std::vector<ServedBucket::Answer> due;
    std::exception_ptr error;
  };

  bool PollControl(int worker);
  void OnControl(int worker, std::span<const std::byte> bytes);
  void Register(int worker, const GroupDescription& description);
  /// Throws Corrupt for a group with numbers of another one, or beyond all.
  void CheckNumbers(const ServedGroup& group) const;
  void Finish(Group& group, int worker);
  void Do(const Task& task, std::vector<ServedBucket::Answer>& due);
  void Give(Task task);
  bool PollWorker(Group& group, int worker);
  /// Returns the bucket of the frame that has arrived from a worker.
  std::size_t BucketOf(const Group& group, int worker) const;
  void Hand(Group& group, int worker, std::size_t bucket);
  bool TakeResults();
  /// True if all pushes are answered, and all answers have been sent.
  bool Answered(Group& group);
  /// True if, besides, all workers have released it.
  bool Unused(Group& group);
  void Receive(Group& group, int worker);
  void Add(const std::stop_token& stop);

  Transport& lane_;
  const ServerPlace place_;
  const std::function<void()> wake_;
  std::vector<Control> controls_;  ///< By worker.
  std::list<Group> groups_;        ///< Tasks point to them.

  std::mutex mutex_;
  std::condition_variable_any more_;
  std::vector<Task> tasks_;    ///< Guarded by mutex_.
  std::vector<Task> results_;  ///< Guarded by mutex_.
  std::vector<Task> taken_;    ///< Scratch of TakeResults.
  std::jthread adder_;         ///< Last: it uses the members above.
};

}  // namespace weir
