#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compression/compressor.h"
#include "compression/cpu/radix_select.h"
#include "compression/dgc/joint_compressor.h"
#include "compression/dgc/threshold_tracker.h"

namespace weir {

/// One selection over several tensors of a rank, in place of one for each: the K entries of largest
/// magnitude among all tensors, at least one of each. K is the number that the tensors would send
/// together on their own. Ties go to the earlier tensor, then to the lower index. A tensor with
/// small entries then waits for its residual to grow, as an entry does.
///
/// A step is Begin, Accumulate of each tensor, Select, and EncodeTaken of each. Always exact: a
/// threshold kept from the last step affects only the time. Not thread-safe.
class JointSelection {
 public:
  /// Takes at least one tensor; they must outlive this object.
  explicit JointSelection(std::vector<JointCompressor*> tensors);

  /// K at this density.
  std::size_t EntriesToSend(double density) const;
  /// Upper bounds, equal on all ranks: for the payload of one tensor of n elements, and for all
  /// payloads together, which is less than the sum.
  std::size_t MaxEncodedBytesOfOne(std::size_t n, double density) const;
  std::size_t MaxEncodedBytes(double density) const;

  void Begin(double density);
  void Accumulate(JointCompressor& tensor, const StepContext& context,
                  std::span<const float> gradient) const;
  void Select();

 private:
  /// A tensor's entry of largest magnitude, the first of equals: its place and its key.
  struct Largest {
    std::size_t source = 0;
    std::size_t at = 0;
    std::uint32_t key = 0;
  };
  static std::optional<Largest> LargestOf(const cpu::DgcStep& step);
  std::size_t CountCollected() const;
  void CollectEnough();
  /// Finds the k-th largest collected entry, leaving out the largest of each tensor.
  cpu::RadixSelect::Result SelectRest(std::size_t k);

  std::vector<JointCompressor*> tensors_;
  std::size_t elements_ = 0;
  std::size_t k_ = 0;  ///< In this step.
  std::optional<float> threshold_;
  ThresholdTracker tracker_;
  cpu::RadixSelect select_;
  std::vector<Largest> largest_;  ///< By tensor.
  std::vector<std::span<const float>> rest_;
};

}  // namespace weir
