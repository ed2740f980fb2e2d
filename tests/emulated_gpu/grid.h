#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

/// The threads of a GPU, one after the other on one thread of the CPU: runs the kernels of
/// libweir_cuda.so without a GPU, for tests. Every GPU thread of a block is a fiber
/// (Boost.Context), which runs until it waits for others of its block or its warp. Their order
/// changes from launch to launch, and the blocks' order too: a result that changes means a missing
/// barrier. Deadlocks, and barriers that not all threads meet at, end the program with a message:
/// they are undefined behaviour that a GPU may not show.
namespace weir::emulated {

struct Size {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kMostThreads = 1024;  // In a block.

/// Runs a grid to its end, in one dimension; one at a time in a process, the others wait.
void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

/// Number of grids that this process has run. In the library, for programs that have loaded it.
extern "C" std::uint64_t weir_emulated_gpu_launches();

/// Kernels call the functions below.
struct Place {
  Size thread;
  Size block;
  Size block_size;
  Size grid_size;
};
const Place& Here();

/// Waits for all threads of the block that have not ended. `site` tells calls apart.
void Barrier(int site);

/// Takes part in an exchange among the lanes in `mask`, which includes this one.
/// Returns the value of lane l at [l].
const std::uint64_t* ExchangeInWarp(std::uint32_t mask, std::uint64_t given);

}  // namespace weir::emulated
