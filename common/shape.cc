#include <limits>

#include "weir/error.h"
#include "weir/tensor.h"

namespace weir {

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > kMaxRank) {
    throw InvalidArgument("a tensor has " + std::to_string(dims.size()) + " dimensions; at most " +
                          std::to_string(kMaxRank) + " are supported");
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0) {
      throw InvalidArgument("a tensor has the negative dimension " + std::to_string(dim));
    }
    if (dim != 0 && elements_ > std::numeric_limits<std::int64_t>::max() / dim) {
      throw InvalidArgument("a tensor's number of elements does not fit in 63 bits");
    }
    dims_[rank_++] = dim;
    elements_ *= dim;
  }
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (std::size_t i = 0; i < rank_; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims_[i]);
  }
  return text + "]";
}

}  // namespace weir
