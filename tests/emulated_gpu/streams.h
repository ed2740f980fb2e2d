#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulated_gpu/runtime.h"

/// Streams that do their work as late as they may: when somebody waits for it. What forgets to wait
/// sees nothing of it, and what is overwritten too early is seen as it is then.
namespace weir::emulated {

/// What is under way is all of one thread. Recursive.
std::recursive_mutex& TheMutex();

using Work = std::function<void()>;

struct Stream {
  explicit Stream(int its_device) : device(its_device) {}

  const int device;
  std::deque<Work> queue;
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  std::unique_ptr<std::vector<Work>> captured;  ///< Where work goes instead, if it is one.
};

struct Event {
  int device = 0;
  std::shared_ptr<Stream> stream{};  ///< Where it was recorded last; null: nowhere.
  std::uint64_t at = 0;              ///< After so much of its work.
};

/// The device of this thread's calls.
int& CurrentDevice();
/// Whether this thread captures, and so may not wait or allocate.
bool& Captures();

std::shared_ptr<Stream> MakeStream();
/// Of a handle; null is the current device's default stream, which waits for no other.
std::shared_ptr<Stream> StreamOf(cudaStream_t handle);
cudaStream_t HandleOf(const std::shared_ptr<Stream>& stream);
/// Once its work is done.
void Destroy(cudaStream_t handle);

/// cudaErrorInvalidResourceHandle for a stream of another device than the current one.
cudaError_t Enqueue(cudaStream_t handle, Work work);
/// Does the stream's work until so much of it is done.
void RunUntil(Stream& stream, std::uint64_t done);
void RunAll();
/// Another thread does all that the stream holds now.
void RunSoon(const std::shared_ptr<Stream>& stream);
/// What RunSoon is asked for waits until this is taken back.
void HoldSoon(bool holds);

}  // namespace weir::emulated
