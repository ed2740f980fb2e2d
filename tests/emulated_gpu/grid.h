#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

/// The threads of a GPU, one after the other on one thread of the CPU: what runs the kernels of
/// libweir_cuda.so where there is no GPU, for tests. Every GPU thread of a block is a fiber
/// (Boost.Context), which runs until it waits for others of its block or its warp. Their order
/// changes from launch to launch, and that of the blocks too: what comes out differently lacks a
/// barrier. What can never go on, and barriers that not all threads meet at, end the program with a
/// message, as undefined behaviour that a GPU may not show.
namespace weir::emulated {

struct Size {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kMostThreads = 1024;  // Of a block.

/// Runs a grid to its end; one at a time in a process, the others wait. In one dimension.
void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

/// How often this process has. In the library, for programs that have loaded it.
extern "C" std::uint64_t weir_emulated_gpu_launches();

/// What follows is called by kernels.
struct Place {
  Size thread;
  Size block;
  Size block_size;
  Size grid_size;
};
const Place& Here();

/// All threads of the block that have not ended. `site` tells calls apart.
void Barrier(int site);

/// Takes part in an exchange among the lanes that `mask` names, this one among them, and returns
/// what lane l has given at [l].
const std::uint64_t* ExchangeInWarp(std::uint32_t mask, std::uint64_t given);

}  // namespace weir::emulated
