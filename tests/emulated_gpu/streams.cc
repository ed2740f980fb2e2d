#include "tests/emulated_gpu/streams.h"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/emulated_gpu/memory.h"

namespace weir::emulated {
namespace {

/// By handle.
std::map<cudaStream_t, std::shared_ptr<Stream>>& Streams() {
  static auto* const streams = new std::map<cudaStream_t, std::shared_ptr<Stream>>;
  return *streams;
}

std::array<std::shared_ptr<Stream>, kDevices>& DefaultStreams() {
  static auto* const streams = [] {
    auto* const made = new std::array<std::shared_ptr<Stream>, kDevices>;
    for (int device = 0; device < kDevices; ++device) {
      (*made)[static_cast<std::size_t>(device)] = std::make_shared<Stream>(device);
    }
    return made;
  }();
  return *streams;
}

/// Does the work of streams that nobody waits for in a call. Never ends.
class Runner {
 public:
  Runner() {
    std::thread([this] { Run(); }).detach();
  }

  void Add(std::shared_ptr<Stream> stream) {
    {
      const std::scoped_lock lock(mutex_);
      streams_.push_back(std::move(stream));
    }
    added_.notify_one();
  }
  void Hold(bool holds) {
    {
      const std::scoped_lock lock(mutex_);
      holds_ = holds;
    }
    added_.notify_one();
  }

 private:
  void Run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      added_.wait(lock, [this] { return !streams_.empty() && !holds_; });
      const std::shared_ptr<Stream> stream = std::move(streams_.front());
      streams_.pop_front();
      lock.unlock();
      const std::scoped_lock working(TheMutex());
      RunUntil(*stream, stream->given);
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::shared_ptr<Stream>> streams_;
  bool holds_ = false;
};
Runner& TheRunner() {
  static auto* const runner = new Runner;
  return *runner;
}

}  // namespace

std::recursive_mutex& TheMutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

int& CurrentDevice() {
  thread_local int device = 0;
  return device;
}

bool& Captures() {
  thread_local bool captures = false;
  return captures;
}

cudaStream_t HandleOf(const std::shared_ptr<Stream>& stream) {
  return reinterpret_cast<cudaStream_t>(stream.get());
}

std::shared_ptr<Stream> MakeStream() {
  auto stream = std::make_shared<Stream>(CurrentDevice());
  Streams().emplace(HandleOf(stream), stream);
  return stream;
}

std::shared_ptr<Stream> StreamOf(cudaStream_t handle) {
  if (handle == nullptr) return DefaultStreams()[static_cast<std::size_t>(CurrentDevice())];
  const auto found = Streams().find(handle);
  return found == Streams().end() ? nullptr : found->second;
}

void Destroy(cudaStream_t handle) {
  const std::shared_ptr<Stream> stream = StreamOf(handle);
  RunUntil(*stream, stream->given);
  Streams().erase(handle);
}

cudaError_t Enqueue(cudaStream_t handle, Work work) {
  const std::scoped_lock lock(TheMutex());
  const std::shared_ptr<Stream> stream = StreamOf(handle);
  if (stream == nullptr || stream->device != CurrentDevice()) return cudaErrorInvalidResourceHandle;
  if (stream->captured) {
    stream->captured->push_back(std::move(work));
    return cudaSuccess;
  }
  stream->queue.push_back(std::move(work));
  ++stream->given;
  return cudaSuccess;
}

void RunUntil(Stream& stream, std::uint64_t done) {
  while (stream.done < done) {
    const Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    const MemoryAccess access;
    work();
    ++stream.done;
  }
}

void RunAll() {
  const auto streams = Streams();
  for (const auto& [handle, stream] : streams) RunUntil(*stream, stream->given);
  for (const auto& stream : DefaultStreams()) RunUntil(*stream, stream->given);
}

void RunSoon(const std::shared_ptr<Stream>& stream) { TheRunner().Add(stream); }

void HoldSoon(bool holds) { TheRunner().Hold(holds); }

}  // namespace weir::emulated
