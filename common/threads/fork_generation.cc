#include "common/threads/fork_generation.h"

#include <pthread.h>

#include <atomic>

namespace weir {
namespace {

std::atomic<std::uint64_t>& Counter() {
  static std::atomic<std::uint64_t> counter{0};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { Counter().fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return counter;
}

}  // namespace

std::uint64_t ForkGeneration() { return Counter().load(std::memory_order_relaxed); }

}  // namespace weir
