#pragma once

#include <cuda_runtime.h>

#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/codecs/level_tiles.h"

namespace weir::cuda {

/// Adds the decoded payloads of the parts to the errors.
void PutBackLevels(const CodecView& view, const LevelOffsets& offsets, cudaStream_t stream);

/// Loads the kernel of MergeLevels (Load).
void LoadMergeLevels();
/// Writes the means of payloads of levels.
void MergeLevels(const CodecView& view, const CodecMeans& means, const LevelOffsets& offsets,
                 cudaStream_t stream);

}  // namespace weir::cuda
