#pragma once

#include <functional>
#include <vector>

#include "coordinator/gradients/gradient_slices.h"

namespace weir {

/// Writes the frame of a bucket, one payload for each of its gradients, and
/// merges those of several senders.
class FrameCoder {
 public:
  explicit FrameCoder(GradientSlices& gradients) : gradients_(gradients) {}

  /// Upper bound of the bytes of a frame of these gradients at this density.
  static std::size_t MaxBytes(const GradientSlices& gradients, double density);

  /// Called between steps. Returns the most bytes that a frame of the next one takes.
  std::size_t Prepare();

  /// Writes the frame of the submitted gradients: GradientSlices::Encode, slice by slice.
  void Write() { WriteWith(&GradientSlices::Encode); }
  /// Writes the frame of the staging buffer (GradientSlices::EncodeStaged).
  void WriteStaged() { WriteWith(&GradientSlices::EncodeStaged); }
  /// Writes the frame of a rank that contributes nothing.
  void WriteEmpty();
  std::span<const std::byte> frame() const { return std::span(buffer_).first(bytes_); }

  /// Writes the mean of the senders' decoded frames into each slice's Target and finishes it.
  /// Checks all frames, to the last index, before it touches the first result. `rank_of(i)` is the
  /// rank of the job that sent frame i, for errors. Throws Corrupt.
  void MergeMean(std::span<const std::span<const std::byte>> frames,
                 const std::function<int(std::size_t)>& rank_of);
  /// Decodes this rank's own frame into the staging buffer.
  void DecodeOwn();

 private:
  using Payloads = GradientSlices::Payloads;
  using Encode = std::size_t (GradientSlices::*)(const GradientSlice&, std::span<std::byte>);
  void WriteWith(Encode encode);
  void Read(std::span<const std::byte> frame, Payloads& payloads) const;

  GradientSlices& gradients_;
  std::vector<std::byte> buffer_;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> payload_most_;  ///< By slice, in this step.
  std::vector<Payloads> received_;         ///< By sender, then slice.
};

}  // namespace weir
