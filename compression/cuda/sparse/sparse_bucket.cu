#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "compression/cuda/sparse/sparse_bucket.h"
#include "compression/cuda/sparse/sparse_select.h"
#include "compression/memory/state_rounding.h"

namespace weir::cuda {
namespace {

constexpr std::size_t DividedUp(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

/// Room for candidates. The threshold aims at 2 k, but v grows fast in the first steps.
/// Reading more candidates costs less than reading v again, and room for n / 64 takes
/// an eighth of a byte an element.
std::size_t CapacityFor(std::size_t n, std::size_t k) {
  return CandidatesPay(n, k) ? std::min(std::max<std::size_t>({4 * k, n / 64, 1024}), n) : 0;
}

}  // namespace

SparseBucket::SparseBucket(std::span<const GpuDgcTensor> tensors, bool adds_back)
    : tensors_(tensors.size()), parts_(tensors.size()), statuses_(tensors.size()) {
  DescribeTensors(tensors, adds_back);
  AllocateByTiles();
  statuses_.Clear(nullptr);
  Check(cudaStreamSynchronize(nullptr));  // The next work may be in another stream.
}

void SparseBucket::DescribeTensors(std::span<const GpuDgcTensor> tensors, bool adds_back) {
  const std::span<SparseTensor> out = tensors_.host();
  std::size_t elements = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const GpuDgcTensor& in = tensors[i];
    SparseTensor& tensor = out[i];
    tensor = {.u = in.u,
              .v = in.v,
              .state = in.state,
              .seed = in.seed,
              .n = in.n,
              .first_tile = static_cast<std::uint32_t>(tiles_),
              .tiles = static_cast<std::uint32_t>(DividedUp(in.n, kTile)),
              .first_run = static_cast<std::uint32_t>(runs_),
              .runs = 0,
              .run_tiles = 0,
              .momentum = in.momentum,
              .m = in.m,
              .masking = in.masking,
              .adds_back = adds_back,
              .values = in.values};
    tensor.run_tiles =
        std::max(kMinRunTiles, static_cast<std::uint32_t>(DividedUp(tensor.tiles, kMostRuns)));
    tensor.runs = static_cast<std::uint32_t>(DividedUp(tensor.tiles, tensor.run_tiles));
    tiles_ += tensor.tiles;
    runs_ += tensor.runs;
    elements += in.n;
  }
  // The ties of all tensors are counted in 32 bits together.
  if (elements > UINT32_MAX) throw std::runtime_error("a bucket of 2^32 elements or more");
  tensors_.Upload(nullptr);
}

void SparseBucket::AllocateByTiles() {
  tile_tensors_ = SharedArray<std::uint32_t>(tiles_);
  run_tensors_ = SharedArray<std::uint32_t>(runs_);
  for (std::size_t i = 0; i < count(); ++i) {
    const SparseTensor& tensor = tensors_.host()[i];
    std::ranges::fill(tile_tensors_.host().subspan(tensor.first_tile, tensor.tiles),
                      static_cast<std::uint32_t>(i));
    std::ranges::fill(run_tensors_.host().subspan(tensor.first_run, tensor.runs),
                      static_cast<std::uint32_t>(i));
  }
  tile_tensors_.Upload(nullptr);
  run_tensors_.Upload(nullptr);
  marks_ = DeviceArray<std::uint32_t>(tiles_ * kTileWords);
  tile_counts_ = DeviceArray<std::uint32_t>(tiles_ + 1);
  tile_offsets_ = DeviceArray<std::uint32_t>(tiles_ + 1);
  histograms_ = DeviceArray<std::uint32_t>(count() * kHistograms * kBins);
  run_counts_ = DeviceArray<unsigned long long>(runs_ + 1);
  run_offsets_ = DeviceArray<unsigned long long>(runs_ + 1);
  tile_counts_.Clear(nullptr);
  run_counts_.Clear(nullptr);
  std::size_t bytes = 0;
  SelectWinners(View(), nullptr, bytes, nullptr);
  scan_storage_ = DeviceArray<std::byte>(bytes);
}

void SparseBucket::SetCounts(std::span<const Input> inputs, cudaStream_t stream) {
  const bool same = std::ranges::equal(inputs, counts_, {}, &Input::k);
  if (same) return;
  // The stream may still read what is freed below.
  Check(cudaStreamSynchronize(stream));
  counts_.clear();
  std::vector<std::size_t> counts;
  std::size_t candidates = 0;
  std::size_t winners = 0;
  std::vector<WriteJob> jobs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t n = tensors_.host()[i].n;
    const std::size_t k = inputs[i].k;
    if (k == 0 || k > n) throw std::runtime_error("a selection of none, or of more than there is");
    SparseInput& part = parts_.host()[i];
    part.k = static_cast<std::uint32_t>(k);
    part.first_candidate = static_cast<std::uint32_t>(candidates);
    part.capacity = static_cast<std::uint32_t>(CapacityFor(n, k));
    part.first_winner = static_cast<std::uint32_t>(winners);
    candidates += part.capacity;
    winners += k;
    counts.push_back(k);
    AppendJobs(static_cast<std::uint32_t>(i), n, k, jobs);
  }
  candidate_indices_ = DeviceArray<std::uint32_t>(candidates);
  candidate_values_ = DeviceArray<float>(candidates);
  winner_indices_ = DeviceArray<std::uint32_t>(winners);
  winner_values_ = DeviceArray<float>(winners);
  old_u_ = DeviceArray<float>(winners);
  old_v_ = DeviceArray<float>(winners);
  jobs_ = SharedArray<WriteJob>(jobs.size());
  std::ranges::copy(jobs, jobs_.host().begin());
  jobs_.Upload(stream);
  counts_ = std::move(counts);  // There is room for them now.
}

SparseBucketView SparseBucket::View() const {
  return {.tensors = tensors_.device(),
          .parts = parts_.device(),
          .statuses = statuses_.device(),
          .scratch = {.marks = marks_.data(),
                      .tile_counts = tile_counts_.data(),
                      .tile_offsets = tile_offsets_.data(),
                      .tile_tensors = tile_tensors_.device(),
                      .run_tensors = run_tensors_.device(),
                      .candidate_indices = candidate_indices_.data(),
                      .candidate_values = candidate_values_.data(),
                      .histograms = histograms_.data(),
                      .run_counts = run_counts_.data(),
                      .run_offsets = run_offsets_.data(),
                      .winner_indices = winner_indices_.data(),
                      .winner_values = winner_values_.data(),
                      .old_u = old_u_.data(),
                      .old_v = old_v_.data()},
          .tensor_count = static_cast<std::uint32_t>(count()),
          .tiles = static_cast<std::uint32_t>(tiles_),
          .runs = static_cast<std::uint32_t>(runs_)};
}

SparseBucketView SparseBucket::Begin(std::span<const Input> inputs, cudaStream_t stream) {
  if (inputs.size() != count()) throw std::runtime_error("not one part for each tensor");
  sent_ = false;  // A step that fails has sent nothing.
  SetCounts(inputs, stream);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SparseInput& part = parts_.host()[i];
    part.gradient = inputs[i].gradient;
    part.dtype = inputs[i].dtype;
    part.scale = inputs[i].scale;
    part.payload = inputs[i].payload;
    part.rounding = RoundingKey(tensors_.host()[i].seed, inputs[i].step, inputs[i].rank);
  }
  parts_.Upload(stream);
  histograms_.Clear(stream);
  return View();
}

void SparseBucket::Send(cudaStream_t stream) {
  const SparseBucketView bucket = View();
  std::size_t bytes = scan_storage_.size();
  SelectWinners(bucket, scan_storage_.data(), bytes, stream);
  WriteParts(bucket, jobs_.device(), jobs_.host().size(), stream);
  sent_ = true;
}

void SparseBucket::PutBack(cudaStream_t stream) {
  if (!sent_) return;
  weir::cuda::PutBack(View(), jobs_.device(), jobs_.host().size(), stream);
  sent_ = false;
}

void SparseBucket::ReserveMerge(std::span<const std::size_t> entries, std::size_t ranks,
                                cudaStream_t stream) {
  const std::size_t of_a_rank = std::accumulate(entries.begin(), entries.end(), std::size_t{0});
  merge_.Reserve(count(), ranks, of_a_rank * ranks, stream);
}

void SparseBucket::ForgetThresholds(cudaStream_t stream) {
  statuses_.Download(stream);
  Check(cudaStreamSynchronize(stream));
  for (SparseStatus& status : statuses_.host()) status.tracker.Forget();
  statuses_.Upload(stream);
  Check(cudaStreamSynchronize(stream));
}

}  // namespace weir::cuda
