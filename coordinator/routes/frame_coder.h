#pragma once

#include <functional>
#include <vector>

#include "coordinator/gradients/gradient_slices.h"

namespace weir {

/// Writes the frame of a bucket, one payload for each of its gradients, and merges those of
/// several senders.
class FrameCoder {
 public:
  explicit FrameCoder(GradientSlices& gradients) : gradients_(gradients) {}

  /// Most bytes a frame of these gradients takes at this density.
  static std::size_t MaxBytes(const GradientSlices& gradients, double density);

  /// Between steps. Returns the most bytes that a frame of the next one takes.
  std::size_t Prepare();

  /// The frame of what was submitted: of GradientSlices::Encode, slice by slice.
  void Write() { WriteWith(&GradientSlices::Encode); }
  /// The same of what lies in the staging buffer (GradientSlices::EncodeStaged).
  void WriteStaged() { WriteWith(&GradientSlices::EncodeStaged); }
  /// The frame of a rank that contributes nothing.
  void WriteEmpty();
  std::span<const std::byte> frame() const { return std::span(buffer_).first(bytes_); }

  /// Brings the mean of what the senders' frames decode to into each slice's Target and finishes
  /// it. All frames are checked, to the last index, before the first result is touched.
  /// `rank_of(i)` is the rank of the job that sent frame i, for errors. Throws Corrupt.
  void MergeMean(std::span<const std::span<const std::byte>> frames,
                 const std::function<int(std::size_t)>& rank_of);
  /// What this rank's own frame decodes to, into the staging buffer.
  void DecodeOwn();

 private:
  using Payloads = GradientSlices::Payloads;
  using Encode = std::size_t (GradientSlices::*)(const GradientSlice&, std::span<std::byte>);
  void WriteWith(Encode encode);
  void Read(std::span<const std::byte> frame, Payloads& payloads) const;

  GradientSlices& gradients_;
  std::vector<std::byte> buffer_;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> payload_most_;  ///< Of each slice in this step.
  std::vector<Payloads> received_;         ///< By sender, then slice.
};

}  // namespace weir
