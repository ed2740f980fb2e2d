#pragma once

#include <string>

#include "common/byte_stream.h"
#include "compression/options/options.h"

/// Compression options in messages between processes.
namespace weir {

inline void PutOptions(ByteWriter& out, const CompressionOptions& options) {
  out.Put(static_cast<std::uint32_t>(options.size()));
  for (const auto& [key, value] : options) {
    out.PutString(key);
    out.PutString(value);
  }
}

inline CompressionOptions GetOptions(ByteReader& in) {
  CompressionOptions options;
  const std::uint32_t count = in.GetCount(2 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string key = in.GetString();
    options.emplace(std::move(key), in.GetString());
  }
  return options;
}

}  // namespace weir
