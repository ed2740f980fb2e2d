#pragma once

namespace weir {

/// Scaling of a rank's gradient before it is clipped.
enum class GradientScaling {
  kLocalMean,       ///< The mean over the rank's own samples.
  kDividedByRanks,  ///< The mean divided by the number of ranks.
};

/// Threshold of local clipping (Lin et al., ICLR 2018, section 3.2): a rank clips its new gradient,
/// by the L2 norm over all its parameters, before anything accumulates. A clip of `c` on the
/// average over N ranks becomes c * N^clip_scale on a local mean; 0.5 is right for independent
/// gradients. On a gradient divided by N it is 1/N of that. `ranks` >= 1.
double ClippingThreshold(double c, int ranks, GradientScaling scaling, double clip_scale = 0.5);

/// Factor for a gradient of this norm: min(1, threshold / norm). 1 for a norm that is not finite:
/// such a step is skipped, or its broken entries count as 0, and the rest must not vanish.
float ClippingCoefficient(double norm, double threshold);

}  // namespace weir
