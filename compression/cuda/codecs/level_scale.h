#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/device_array.h"

namespace weir::cuda {

/// Finds the scales of levels (LevelScale).
class LevelScales {
 public:
  LevelScales(std::size_t tensors, std::size_t tiles);

  /// Takes the gradients, and writes the beginning of the payloads: the scale and the form.
  void Take(const CodecView& view, cudaStream_t stream);

 private:
  DeviceArray<std::uint32_t> largest_;  ///< By tensor, the largest key; 0 before a step.
  DeviceArray<double> squares_;         ///< By tile.
};

}  // namespace weir::cuda
