#include "tests/emulated_gpu/grid.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::emulated {
namespace {

namespace context = boost::context;

constexpr std::size_t kStackBytes = std::size_t{64} << 10;

enum class State : std::uint8_t { kRuns, kAtBarrier, kInWarp, kEnded };

struct Thread {
  context::fiber fiber;      ///< While others run.
  context::fiber scheduler;  ///< While this one runs.
  State state = State::kEnded;
  int site = 0;            ///< The barrier's.
  std::uint32_t mask = 0;  ///< The exchange's.
  std::uint64_t given = 0;
  std::array<std::uint64_t, kWarp> received{};
  unsigned index = 0;
};

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated GPU: %s\n", what);
  std::abort();
}

/// A block's threads, kept from launch to launch.
class Block {
 public:
  void Run(const Place& place, bool backwards, const std::function<void()>& kernel) {
    here_ = place;
    kernel_ = &kernel;
    const unsigned count = place.block_size.x;
    while (threads_.size() < count) AddThread();
    for (unsigned t = 0; t < count; ++t) threads_[t]->state = State::kRuns;
    ended_ = 0;
    while (ended_ < count) {
      bool went_on = false;
      for (unsigned i = 0; i < count; ++i) {
        Thread& thread = *threads_[backwards ? count - 1 - i : i];
        if (thread.state == State::kInWarp) FinishExchange(thread);
        if (thread.state != State::kRuns) continue;
        Resume(thread);
        went_on = true;
      }
      if (!went_on && !OpenBarrier(count)) Fail("the threads of a block wait for each other");
    }
  }

  const Place& here() const { return here_; }

  void Wait(State state, int site) {
    Thread& self = *running_;
    self.state = state;
    self.site = site;
    self.scheduler = std::move(self.scheduler).resume();
  }

  const std::uint64_t* Exchange(std::uint32_t mask, std::uint64_t given) {
    Thread& self = *running_;
    if ((mask >> self.index % kWarp & 1) == 0) Fail("a lane exchanges under a mask without it");
    self.mask = mask;
    self.given = given;
    Wait(State::kInWarp, 0);
    return running_->received.data();
  }

 private:
  void AddThread() {
    threads_.push_back(std::make_unique<Thread>());
    Thread* const thread = threads_.back().get();
    thread->index = static_cast<unsigned>(threads_.size() - 1);
    thread->fiber = context::fiber(std::allocator_arg, context::fixedsize_stack(kStackBytes),
                                   [this, thread](context::fiber&& scheduler) {
                                     thread->scheduler = std::move(scheduler);
                                     for (;;) {
                                       (*kernel_)();
                                       ++ended_;
                                       Wait(State::kEnded, 0);
                                     }
                                     return std::move(thread->scheduler);
                                   });
  }

  void Resume(Thread& thread) {
    running_ = &thread;
    here_.thread.x = thread.index;
    thread.fiber = std::move(thread.fiber).resume();
  }

  /// Lets all lanes of the exchange go on, once all of them have come.
  void FinishExchange(const Thread& one) {
    const unsigned first = one.index / kWarp * kWarp;
    const std::uint32_t mask = one.mask;
    std::array<std::uint64_t, kWarp> values{};
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      if (first + lane >= here_.block_size.x) Fail("an exchange with lanes that there are not");
      const Thread& other = *threads_[first + lane];
      if (other.state == State::kEnded) Fail("an exchange with a lane that has ended");
      if (other.state != State::kInWarp) return;
      if (other.mask != mask) Fail("lanes exchange under different masks");
      values[lane] = other.given;
    }
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      threads_[first + lane]->received = values;
      threads_[first + lane]->state = State::kRuns;
    }
  }

  bool OpenBarrier(unsigned count) {
    int site = -1;
    for (unsigned t = 0; t < count; ++t) {
      const Thread& thread = *threads_[t];
      if (thread.state == State::kEnded) continue;
      if (thread.state != State::kAtBarrier) return false;
      if (site != -1 && site != thread.site) Fail("threads of a block wait at different barriers");
      site = thread.site;
    }
    for (unsigned t = 0; t < count; ++t) {
      if (threads_[t]->state == State::kAtBarrier) threads_[t]->state = State::kRuns;
    }
    return site != -1;
  }

  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* running_ = nullptr;
  Place here_;
  const std::function<void()>* kernel_ = nullptr;
  unsigned ended_ = 0;
};

std::atomic<std::uint64_t> launches = 0;

/// Lives as long as the process: its fibers never end.
Block& TheBlock() {
  static Block* const block = new Block;
  return *block;
}

}  // namespace

void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  if (threads == 0 || threads > kMostThreads) Fail("a block of so many threads cannot be");
  const std::uint64_t order = launches++;
  Place place;
  place.block_size.x = threads;
  place.grid_size.x = blocks;
  for (unsigned b = 0; b < blocks; ++b) {
    place.block.x = order % 4 >= 2 ? blocks - 1 - b : b;
    TheBlock().Run(place, order % 2 == 1, kernel);
  }
}

extern "C" std::uint64_t weir_emulated_gpu_launches() { return launches; }

const Place& Here() { return TheBlock().here(); }

void Barrier(int site) { TheBlock().Wait(State::kAtBarrier, site); }

const std::uint64_t* ExchangeInWarp(std::uint32_t mask, std::uint64_t given) {
  return TheBlock().Exchange(mask, given);
}

}  // namespace weir::emulated
