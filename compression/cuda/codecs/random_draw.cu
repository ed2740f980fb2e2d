#include <algorithm>
#include <cub/cub.cuh>
#include <stdexcept>

#include "compression/codecs/random_index_math.h"
#include "compression/cuda/codecs/random_draw.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

/// Output of the kernels, by entry.
struct Drawn {
  std::uint32_t* numbers;
  std::uint32_t* places;  ///< By number; when these are sorted, the number that each draw takes.
  bool* repeats;
  const std::uint32_t* sorted;
  const std::uint32_t* sorted_places;
};

__global__ void __launch_bounds__(kThreads)
    DrawKernel(RandomDraw::View view, const std::int64_t* steps, Drawn drawn) {
  const Tile tile = view.tiles[blockIdx.x];
  const RandomDraw::Job job = view.jobs[tile.tensor];
  const CounterRandom random({job.key[0], job.key[1]});
  const std::int64_t step = steps[tile.tensor];
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    const std::uint64_t bits = BitsOfDraw(random.Draw(step, e / 2), e);
    const std::size_t number = NumberBelow(bits, LastOfDraw(job.n, job.k, e) + 1);
    drawn.numbers[job.first + e] = job.base + static_cast<std::uint32_t>(number);
    drawn.places[job.first + e] = job.first + e;
  });
}

/// Sorting keeps draws of one number in their order.
__global__ void __launch_bounds__(kThreads) FindRepeatsKernel(RandomDraw::View view, Drawn drawn) {
  const Tile tile = view.tiles[blockIdx.x];
  const RandomDraw::Job job = view.jobs[tile.tensor];
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    const std::uint32_t place = job.first + e;
    drawn.repeats[drawn.sorted_places[place]] =
        e > 0 && drawn.sorted[place] == drawn.sorted[place - 1];
  });
}

/// True if draw e finds its number taken: by an earlier draw of it, or by a draw that found its own
/// number taken and took its last one instead.
__device__ bool IsTaken(const RandomDraw::Job& job, const Drawn& drawn, std::uint32_t e) {
  const std::uint32_t least = job.base + static_cast<std::uint32_t>(LastOfDraw(job.n, job.k, 0));
  for (;;) {
    if (drawn.repeats[job.first + e]) return true;
    const std::uint32_t number = drawn.numbers[job.first + e];
    if (number < least || number - least >= e) return false;
    e = number - least;  // The draw that has this last number.
  }
}

__global__ void __launch_bounds__(kThreads) TakeKernel(RandomDraw::View view, Drawn drawn) {
  const Tile tile = view.tiles[blockIdx.x];
  const RandomDraw::Job job = view.jobs[tile.tensor];
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    const auto last = static_cast<std::uint32_t>(LastOfDraw(job.n, job.k, e));
    const std::uint32_t place = job.first + e;
    drawn.places[place] = IsTaken(job, drawn, e) ? job.base + last : drawn.numbers[place];
  });
}

}  // namespace

RandomDraw::RandomDraw(std::span<const Tensor> tensors) : jobs_(tensors.size()) {
  std::size_t elements = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    jobs_.host()[i] = {.n = tensor.n,
                       .key = {tensor.key[0], tensor.key[1]},
                       .k = 0,
                       .base = static_cast<std::uint32_t>(elements),
                       .first = 0};
    elements += tensor.n;
  }
  if (elements > UINT32_MAX) throw std::runtime_error("a bucket of 2^32 elements or more");
  while (elements >> bits_ != 0) ++bits_;
}

void RandomDraw::Sort(void* storage, std::size_t& bytes, cudaStream_t stream) const {
  Check(cub::DeviceRadixSort::SortPairs(storage, bytes, numbers_.data(), sorted_.data(),
                                        places_.data(), sorted_places_.data(),
                                        static_cast<std::uint32_t>(entries()), 0, bits_, stream));
}

void RandomDraw::SortDrawn(void* storage, std::size_t& bytes, cudaStream_t stream) const {
  Check(cub::DeviceRadixSort::SortKeys(storage, bytes, places_.data(), sorted_.data(),
                                       static_cast<std::uint32_t>(entries()), 0, bits_, stream));
}

void RandomDraw::SetCounts(std::span<const std::size_t> counts, cudaStream_t stream) {
  if (std::ranges::equal(counts, counts_)) return;
  Check(cudaStreamSynchronize(stream));  // The stream may still read what is freed below.
  counts_.clear();
  std::size_t entries = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Job& job = jobs_.host()[i];
    if (counts[i] > job.n) throw std::runtime_error("a draw of more than there is");
    job.k = static_cast<std::uint32_t>(counts[i]);
    job.first = static_cast<std::uint32_t>(entries);
    entries += counts[i];
  }
  jobs_.Upload(stream);
  numbers_ = DeviceArray<std::uint32_t>(entries);
  places_ = DeviceArray<std::uint32_t>(entries);
  repeats_ = DeviceArray<bool>(entries);
  sorted_ = DeviceArray<std::uint32_t>(entries);
  sorted_places_ = DeviceArray<std::uint32_t>(entries);
  tiles_ = TileTable(counts, kDrawTile);
  std::size_t bytes = 0;
  std::size_t bytes_of_drawn = 0;
  Sort(nullptr, bytes, stream);
  SortDrawn(nullptr, bytes_of_drawn, stream);
  storage_ = DeviceArray<std::byte>(std::max(bytes, bytes_of_drawn));
  counts_.assign(counts.begin(), counts.end());  // There is room for them now.
}

void RandomDraw::Draw(const std::int64_t* steps, cudaStream_t stream) {
  if (entries() == 0) return;
  const Drawn drawn{.numbers = numbers_.data(),
                    .places = places_.data(),
                    .repeats = repeats_.data(),
                    .sorted = sorted_.data(),
                    .sorted_places = sorted_places_.data()};
  std::size_t bytes = storage_.size();
  Launch(DrawKernel, tiles_.size(), stream, view(), steps, drawn);
  Sort(storage_.data(), bytes, stream);
  Launch(FindRepeatsKernel, tiles_.size(), stream, view(), drawn);
  Launch(TakeKernel, tiles_.size(), stream, view(), drawn);
  SortDrawn(storage_.data(), bytes, stream);
}

}  // namespace weir::cuda
