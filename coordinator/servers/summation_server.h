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
#include "ops/pending.h"
#include "ops/transport.h"

namespace weir {

/// A summation server on the network: takes what workers push, lets a thread of its own add it up
/// and compress what goes back, and sends that. It negotiates nothing; workers say what they
/// register, and the messages say what they belong to (ops/push_pull/server_messages.h).
///
/// Network thread only.
class SummationServer {
 public:
  /// Workers are the first `place.workers` ranks of `lane`. `wake` is called, by the other thread,
  /// when Poll has something to do.
  SummationServer(Transport& lane, const ServerPlace& place, std::function<void()> wake);
  ~SummationServer();

  /// Makes progress; true when something moved. Throws Corrupt that names bucket and worker, and
  /// what the transport throws.
  bool Poll();
  /// All workers have left, and nothing is under way.
  bool over() const;
  /// Nothing that was pushed waits for its answer.
  bool answered_all();
  /// Gives up what is under way; no buffer is touched once this returns.
  void Cancel();

 private:
  /// What a worker has pushed of a bucket, until it is answered.
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
    std::size_t tasks = 0;  ///< Whose results were not taken yet.
  };
  struct Control {
    std::unique_ptr<std::byte[]> buffer;
    Pending receive;
    std::set<std::uint32_t> released;  ///< First numbers of groups.
    bool finished = false;
    bool left = false;
  };
  /// For the other thread, and what came of it.
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
  /// The bucket of the frame that has arrived from a worker.
  std::size_t BucketOf(const Group& group, int worker) const;
  void Hand(Group& group, int worker, std::size_t bucket);
  bool TakeResults();
  /// All that was pushed is answered, and all answers have gone.
  bool Answered(Group& group);
  /// The same, and all workers have released it.
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
  std::jthread adder_;         ///< Last: it uses what is above.
};

}  // namespace weir
