#pragma once

#include <string>

#include "weir/error.h"
#include "weir/optimizer.h"

namespace weir {

namespace internal {

/// True if the entries lie one after the other, column by column.
template <typename Dense>
bool IsOneBlock(const Dense& dense) {
  if (dense.size() <= 1) return true;
  if (dense.rows() == 1 || dense.cols() == 1) {
    const bool along = (dense.rows() == 1) == bool{Dense::IsRowMajor};
    return (along ? dense.innerStride() : dense.outerStride()) == 1;
  }
  return !Dense::IsRowMajor && dense.innerStride() == 1 && dense.outerStride() == dense.rows();
}

}  // namespace internal

/// Makes a Parameter from two dense Eigen objects of float (Matrix, Vector, Array) of equal shape.
/// Column-major storage is exchanged in place. Works with any Eigen 3; this header does not include
/// it. Throws InvalidArgument when the shapes differ, or when an object is not one block of
/// column-major memory (a part of a matrix, a row-major one).
template <typename Values, typename Gradient>
Parameter EigenParameter(const std::string& name, Values& value, Gradient& gradient,
                         int parameter_group = 0) {
  if (value.rows() != gradient.rows() || value.cols() != gradient.cols()) {
    throw InvalidArgument(
        "parameter '" + name + "': the value is " + Shape{value.rows(), value.cols()}.ToString() +
            " but the gradient is " + Shape{gradient.rows(), gradient.cols()}.ToString(),
        {name, {}, "register"});
  }
  if (!internal::IsOneBlock(value) || !internal::IsOneBlock(gradient)) {
    throw InvalidArgument("parameter '" + name +
                              "': value and gradient must each be one block of column-major "
                              "memory, not a part of a matrix or a row-major one",
                          {name, {}, "register"});
  }
  const auto size = static_cast<std::size_t>(value.size());
  const Shape shape = value.cols() == 1 ? Shape{value.rows()} : Shape{value.rows(), value.cols()};
  return {.name = name,
          .value = {value.data(), size},
          .gradient = {gradient.data(), size},
          .shape = shape,
          .parameter_group = parameter_group};
}

}  // namespace weir
