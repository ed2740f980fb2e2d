#pragma once

#include <cstddef>
#include <vector>

#include "compression/compressor.h"

namespace weir::test {

/// Returns the bytes that one rank's Encode sends.
inline std::vector<std::byte> Send(Compressor& compressor, const StepContext& context,
                                   const std::vector<float>& gradient) {
  std::vector<std::byte> payload(compressor.MaxEncodedBytes(context.density));
  payload.resize(compressor.Encode(context, gradient, payload));
  return payload;
}

/// Returns a receiver's result.
inline std::vector<float> Received(const Compressor& compressor,
                                   const std::vector<std::byte>& payload, std::size_t n) {
  std::vector<float> sum(n);
  compressor.Merge(payload, sum);
  return sum;
}

/// Encodes and decodes at once.
inline std::vector<float> SendAndReceive(Compressor& compressor, const StepContext& context,
                                         const std::vector<float>& gradient) {
  return Received(compressor, Send(compressor, context, gradient), gradient.size());
}

}  // namespace weir::test
