#include "compression/process/slot.h"

#include <algorithm>

namespace weir {

std::size_t StateFloats(TensorCompression& compressor) {
  std::size_t floats = 0;
  for (const TensorCompression::StateArray& array : compressor.State())
    floats += array.values.size();
  return floats;
}

void WriteImage(TensorCompression& compressor, std::span<float> image) {
  for (const TensorCompression::StateArray& array : compressor.State()) {
    std::ranges::copy(array.values, image.begin());
    image = image.subspan(array.values.size());
  }
}

void ReadImage(std::span<const float> image, TensorCompression& compressor) {
  for (const TensorCompression::StateArray& array : compressor.State()) {
    std::ranges::copy(image.first(array.values.size()), array.values.begin());
    image = image.subspan(array.values.size());
  }
  compressor.Restored();
}

}  // namespace weir
