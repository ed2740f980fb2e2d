#pragma once

#include <cstdint>
#include <vector>

#include "common/byte_stream.h"
#include "weir/error.h"
#include "weir/tensor.h"

/// Shapes in messages between processes, other than negotiation's shorter ones: the number of
/// dimensions as u32, then each as i64.
namespace weir {

inline void PutShape(ByteWriter& out, const Shape& shape) {
  out.Put(static_cast<std::uint32_t>(shape.rank()));
  for (const std::int64_t dim : shape.dims()) out.Put(dim);
}

inline Shape GetShape(ByteReader& in) {
  std::vector<std::int64_t> dims(in.GetCount(sizeof(std::int64_t)));
  for (std::int64_t& dim : dims) dim = in.Get<std::int64_t>();
  try {
    return Shape(dims);
  } catch (const InvalidArgument& error) {
    in.Fail(error.what());
  }
}

}  // namespace weir
