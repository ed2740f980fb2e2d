#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compression/compressor.h"
#include "compression/process/compression_process.h"
#include "compression/process/slot.h"

namespace weir {

/// A compressor whose Encode runs in a compression process. Payloads and memory have the bits of
/// the compressor that it stands for, which reads payloads here, and does what is asked between
/// steps.
///
/// After each step the process writes an image of its memory where both see it, while the program
/// goes on. If it dies, the image and the last gradient, which lie in shared memory, give back what
/// it had: Encode and Revert go on here, with nothing lost.
///
/// The memory is where it was used last: there, or here for State, dense phases and Drain. Not
/// thread-safe.
class ProcessCompressor final : public Compressor {
 public:
  /// Returns one that stands for `local`, which has just been made from the description. Returns
  /// `local` itself where there is no gain (few elements, payloads that are whole arrays,
  /// remembered means), where several tensors are compressed together, or if the process does not
  /// know such compressors.
  static std::unique_ptr<Compressor> Make(CompressionProcess& process,
                                          const process::Description& description,
                                          std::unique_ptr<Compressor> local);

  ~ProcessCompressor() override;

  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Revert() override;
  void Mark() override;
  void GoBack() override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  bool drains() const override { return local_->drains(); }
  std::span<const float> Drain(const StepContext& context, std::span<const float> gradient,
                               DType type) override;
  std::vector<StateArray> State() override;
  void Restored() override;

  std::uint64_t non_finite_entries() const override {
    return non_finite_ + local_->non_finite_entries();
  }
  float threshold() const override { return is_here_ ? local_->threshold() : threshold_; }
  /// Empty while the memory is in the process.
  std::span<const float> residual() const override {
    return is_here_ ? local_->residual() : std::span<const float>();
  }

  std::size_t MaxEncodedBytes(double density) const override {
    return local_->MaxEncodedBytes(density);
  }
  void Check(std::span<const std::byte> payload) const override { local_->Check(payload); }
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override {
    local_->Merge(payload, sum);
  }
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override {
    local_->MergeMean(payloads, mean);
  }
  std::optional<ValueType> entry_values() const override { return local_->entry_values(); }
  SparseEntries Entries(std::span<const std::byte> payload) const override {
    return local_->Entries(payload);
  }
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const override {
    return local_->EntriesIn(payload);
  }

  /// For tests.
  const Slot& slot() const { return *slot_; }

 private:
  ProcessCompressor(CompressionProcess& process, std::unique_ptr<Compressor> local,
                    std::unique_ptr<Slot> slot, std::uint32_t number);

  /// The last Encode there, until the next one.
  struct Encoded {
    StepContext context;
    std::size_t before;        ///< Image of the memory before it.
    std::uint64_t non_finite;  ///< Counted before it.
    bool reverted = false;     ///< Undone since.
  };
  process::Request RequestFor(process::Ask ask) const;
  /// Returns an image that nothing needs.
  std::size_t SpareImage() const;
  /// Lets the process write an image, unless it has been asked to; does not wait.
  void Keep();
  /// Waits until the last gradient is in an image. False, with the memory here, if the process has
  /// ended.
  bool AwaitImage();
  /// Brings the memory here.
  void Take();
  /// Makes an image of the memory here, which the process reads before it goes on.
  void Give();
  /// Makes the memory here what it was there when the process ended. Returns the payload of the
  /// last Encode, in the slot.
  std::size_t Recover();

  CompressionProcess& process_;
  const std::unique_ptr<Compressor> local_;
  const std::unique_ptr<Slot> slot_;
  const std::uint32_t number_;  ///< In the process.

  bool is_here_ = true;     ///< The memory is local_'s.
  bool is_loaded_ = false;  ///< If not here: the process has read image_.
  std::size_t image_ = 0;   ///< The last complete image, or the one that is being written.
  std::optional<Encoded> encoded_;
  std::optional<std::size_t> marked_;  ///< Image; empty: local_ has marked its memory, if anything.
  float threshold_ = 0;
  std::uint64_t non_finite_ = 0;
};

}  // namespace weir
