#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compression/compressor.h"
#include "compression/dgc/adam_moments.h"
#include "compression/dgc/dgc_math.h"
#include "compression/memory/state_buffer.h"
#include "compression/wire/sparse_payload.h"

namespace weir {

/// Turns the mean over ranks into momentum SGD's direction, in place: AdvanceMomentum entry by
/// entry. An entry that is not finite counts as 0, so that u is never poisoned. Returns the number
/// of these. `u` is as long as `mean`, or empty with Momentum::kNone.
std::uint64_t ApplyMomentum(Momentum momentum, float m, std::span<float> u, std::span<float> mean);

/// DGC's handling of tensors that stay dense (biases, norms, small ones). The whole gradient is
/// sent inside the compressed bucket's frame, as fp32, or as fp16 or low-bit values with the
/// rounding error fed back in the next step. Momentum follows on the mean: dense momentum SGD,
/// exactly so with fp32 values (Lin et al., ICLR 2018, section 3). Or Adam follows on the mean,
/// learning rate included. Not thread-safe except Merge.
class DenseMomentum final : public Compressor {
 public:
  DenseMomentum(Momentum momentum, float m, ValueType values, std::size_t n);
  DenseMomentum(const AdamSettings& adam, ValueType values, std::size_t n);

  std::size_t MaxEncodedBytes(double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  std::optional<ValueType> entry_values() const override { return EntryValues(type_); }
  SparseEntries Entries(std::span<const std::byte> payload) const override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  bool remembers_means() const override { return true; }
  /// Not with Adam, whose step follows on the mean but belongs to a rank elsewhere.
  bool drains() const override { return !adam_; }
  std::span<const float> Drain(const StepContext& context, std::span<const float> gradient,
                               DType type) override;
  void Revert() override;
  /// Unset with Adam and with low-bit values.
  std::optional<GpuRule> gpu_rule() const override;
  std::uint64_t non_finite_entries() const override { return non_finite_; }
  /// "momentum" (none with Momentum::kNone) or Adam's moments, and "error".
  std::vector<StateArray> State() override;
  void Restored() override { sent_anything_ = false; }

 private:
  /// Adds the gradient to the error, which then is what is to be sent, and notes it in before_.
  void Accumulate(const StepContext& context, std::span<const float> gradient);

  Momentum momentum_;
  float m_;
  std::optional<AdamMoments> adam_;
  ValueType type_;
  StateBuffer u_;
  StateBuffer error_;           ///< Rounding error so far.
  std::vector<float> sent_;     ///< The last Encode's values as receivers decode them.
  std::vector<float> before_;   ///< The values that it was to send.
  bool sent_anything_ = false;  ///< True while Revert has something to put back.
  std::uint64_t non_finite_ = 0;
};

}  // namespace weir
