#include <algorithm>
#include <string>

#include "coordinator/gradient_bucket.h"
#include "weir/error.h"

namespace weir {
namespace {

[[noreturn]] void Rethrow(const Corrupt& error, const std::string& bucket, int rank) {
  throw Corrupt("the frame of rank " + std::to_string(rank) + " for '" + bucket +
                    "' is corrupt: " + error.what(),
                {bucket, {rank}, "merge"});
}

}  // namespace

/// Adds every rank's frame in rank order, so that all replicas hold the same bits. All frames are
/// checked, to the last index, before the first result is touched.
void GradientBucket::Merge() {
  const auto frames = gather_->frames();
  rank_payloads_.resize(frames.size());
  for (std::size_t rank = 0; rank < frames.size(); ++rank) {
    try {
      ReadFrame(frames[rank], rank_payloads_[rank]);
    } catch (const Corrupt& error) {
      Rethrow(error, name_, transport_.JobRank(static_cast<int>(rank)));
    }
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      try {
        slices_[i].compressor->Check(rank_payloads_[rank][i]);
      } catch (const Corrupt& error) {
        Rethrow(error, slices_[i].name, transport_.JobRank(static_cast<int>(rank)));
      }
    }
  }
  slice_payloads_.resize(frames.size());
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const GradientSlice& slice = slices_[i];
    const std::span<float> result = Target(slice);
    std::ranges::transform(rank_payloads_, slice_payloads_.begin(),
                           [i](const auto& payloads) { return payloads[i]; });
    slice.compressor->MergeMean(slice_payloads_, result);
    slice.compressor->Finish(ContextOf(slice), result);
    Deliver(slice, result);
  }
}

}  // namespace weir
