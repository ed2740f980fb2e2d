#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// A registered tensor.
struct LayoutTensor {
  std::int64_t bytes = 0;  ///< As fp32.
  int priority = 0;        ///< Higher goes first: the layer that the next forward pass needs first.
  std::size_t kind = 0;    ///< Tensors of different kinds do not share a bucket.
  bool gathers = false;    ///< Its bucket takes as many tensors of the kind as it may.
};

struct LayoutSettings {
  std::int64_t fusion_threshold_bytes = 0;  ///< A bucket never grows beyond this; 0: no fusion.
};

/// One unit of compression and exchange: whole tensors.
struct LaidOutBucket {
  std::vector<std::uint32_t> tensors;  ///< Indices into the registration, in backward order.
  std::int64_t bytes = 0;
  int priority = 0;  ///< The largest of its tensors'.
};

struct BucketLayout {
  std::vector<LaidOutBucket> buckets;  ///< In backward order: the last registered tensor first.
};

/// Groups tensors into buckets. A pure function of the registration, so every rank and every step
/// has the same buckets, in whatever order gradients become ready.
///
/// Gradients become ready from the last layer to the first, so neighbours in that order are fused.
/// A bucket is closed once it holds an eighth of all bytes (at least 1 MiB, at most the fusion
/// threshold): enough buckets for compression to hide behind backprop and the network, few enough
/// that a message's fixed cost does not count (MG-WFBP, Shi et al., INFOCOM 2019). A tensor of that
/// size is a bucket of its own, so that it can be sent without a copy. Small ones are fused around
/// it, and around those of another kind. If entries are selected among all tensors of a bucket,
/// only the fusion threshold closes it.
BucketLayout LayOutBuckets(std::span<const LayoutTensor> tensors, const LayoutSettings& settings);

}  // namespace weir
