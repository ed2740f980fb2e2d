#include "compression/compressor.h"

namespace weir {

void Compressor::Finish(const StepContext&, std::span<float>) {}

}  // namespace weir
