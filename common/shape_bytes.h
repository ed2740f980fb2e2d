#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/byte_stream.h"
#include "weir/error.h"
#include "weir/tensor.h"

/// Shapes in messages between processes: the number of dimensions as u8, then each as i64.
namespace weir {

inline void PutShape(ByteWriter& out, const Shape& shape) {
  out.Put(static_cast<std::uint8_t>(shape.rank()));
  for (const std::int64_t dim : shape.dims()) out.Put(dim);
}

/// Throws Corrupt for a shape that no tensor can have.
inline Shape GetShape(ByteReader& in) {
  const auto rank = in.Get<std::uint8_t>();
  if (rank > Shape::kMaxRank) in.Fail("a shape of too many dimensions");
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  for (std::size_t i = 0; i < rank; ++i) dims[i] = in.Get<std::int64_t>();
  try {
    return Shape(std::span<const std::int64_t>(dims.data(), rank));
  } catch (const InvalidArgument& error) {
    in.Fail(error.what());
  }
}

}  // namespace weir
