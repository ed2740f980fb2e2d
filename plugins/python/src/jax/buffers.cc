#include "plugins/python/src/jax/buffers.h"

#include <span>

#include "weir/error.h"

namespace weir::python {

namespace ffi = xla::ffi;

namespace {

DType TypeOf(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F32:
      return DType::kFloat32;
    case ffi::DataType::F64:
      return DType::kFloat64;
    case ffi::DataType::F16:
      return DType::kFloat16;
    case ffi::DataType::BF16:
      return DType::kBFloat16;
    case ffi::DataType::U8:
      return DType::kUInt8;
    case ffi::DataType::S8:
      return DType::kInt8;
    case ffi::DataType::S16:
      return DType::kInt16;
    case ffi::DataType::S32:
      return DType::kInt32;
    case ffi::DataType::S64:
      return DType::kInt64;
    case ffi::DataType::PRED:
      return DType::kBool;
    default:
      throw InvalidArgument("Weir does not carry arrays of this type; astype(...) makes another");
  }
}

}  // namespace

TensorView ViewOf(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  return {buffer.untyped_data(), TypeOf(buffer.element_type()),
          Shape(std::span(dims.begin(), dims.size()))};
}

ffi::AnyBuffer At(const ffi::RemainingArgs& buffers, std::size_t index) {
  const auto found = buffers.get<ffi::AnyBuffer>(index);
  if (!found) throw InvalidArgument(found.error().message());
  return *found;
}

ffi::AnyBuffer At(const ffi::RemainingRets& buffers, std::size_t index) {
  auto found = buffers.get<ffi::AnyBuffer>(index);
  if (!found) throw InvalidArgument(found.error().message());
  return **found;
}

}  // namespace weir::python
