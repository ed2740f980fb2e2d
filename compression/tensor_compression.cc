#include "compression/tensor_compression.h"

namespace weir {

void TensorCompression::Finish(const StepContext&, std::span<float>) {}

}  // namespace weir
