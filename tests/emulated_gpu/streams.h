#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulated_gpu/runtime.h"

/// Streams that do their work as late as they may: when somebody waits for it. Code that forgets to
/// wait sees no results, and memory overwritten too early is seen as it is then.
namespace weir::emulated {

/// Locks all work under way for one thread. Recursive.
std::recursive_mutex& TheMutex();

using Work = std::function<void()>;

struct Stream {
  explicit Stream(int its_device) : device(its_device) {}

  const int device;
  std::deque<Work> queue;
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  std::unique_ptr<std::vector<Work>> captured;  ///< Place for work while the stream is captured.
};

struct Event {
  int device = 0;
  std::shared_ptr<Stream> stream{};  ///< Stream of the last record; null: none.
  std::uint64_t at = 0;              ///< Amount of its work before the record.
};

/// Device of this thread's calls.
int& CurrentDevice();
/// True if this thread captures, and so may not wait or allocate.
bool& Captures();

std::shared_ptr<Stream> MakeStream();
/// Returns a handle's stream; null is the current device's default stream, which waits for none.
std::shared_ptr<Stream> StreamOf(cudaStream_t handle);
cudaStream_t HandleOf(const std::shared_ptr<Stream>& stream);
/// Destroys a stream once its work is done.
void Destroy(cudaStream_t handle);

/// Returns cudaErrorInvalidResourceHandle for a stream of a device other than the current one.
cudaError_t Enqueue(cudaStream_t handle, Work work);
/// Does the stream's work until so much of it is done.
void RunUntil(Stream& stream, std::uint64_t done);
void RunAll();
/// Makes another thread do all that the stream holds now.
void RunSoon(const std::shared_ptr<Stream>& stream);
/// Holds requests of RunSoon until this is taken back.
void HoldSoon(bool holds);

}  // namespace weir::emulated
