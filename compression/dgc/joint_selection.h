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
/// magnitude among all of theirs, K being what the tensors would send together on their own, and of
/// each tensor one at least, its largest. Ties go to the earlier tensor, then to the lower index. A
/// tensor whose entries are small then waits for its residual to grow, as an entry does.
///
/// One step is Begin, Accumulate of each tensor, Select; then EncodeTaken of each. Always
/// exact: a threshold kept from the last step decides the time alone. Not thread-safe.
class JointSelection {
 public:
  /// At least one; they outlive this.
  explicit JointSelection(std::vector<JointCompressor*> tensors);

  /// K.
  std::size_t EntriesToSend(double density) const;
  /// Upper bounds, equal on all ranks: of the payload of a tensor of n elements, and of all
  /// payloads together, which is less than the sum.
  std::size_t MaxEncodedBytesOfOne(std::size_t n, double density) const;
  std::size_t MaxEncodedBytes(double density) const;

  void Begin(double density);
  void Accumulate(JointCompressor& tensor, const StepContext& context,
                  std::span<const float> gradient) const;
  void Select();

 private:
  /// A tensor's entry of largest magnitude, the first of them: where it was collected, and its key.
  struct Largest {
    std::size_t source = 0;
    std::size_t at = 0;
    std::uint32_t key = 0;
  };
  static std::optional<Largest> LargestOf(const cpu::DgcStep& step);
  std::size_t CountCollected() const;
  void CollectEnough();
  /// The k-th largest of what was collected, the largest of each tensor left out.
  cpu::RadixSelect::Result SelectRest(std::size_t k);

  std::vector<JointCompressor*> tensors_;
  std::size_t elements_ = 0;
  std::size_t k_ = 0;  ///< Of the step.
  std::optional<float> threshold_;
  ThresholdTracker tracker_;
  cpu::RadixSelect select_;
  std::vector<Largest> largest_;  ///< By tensor.
  std::vector<std::span<const float>> rest_;
};

}  // namespace weir
