#include "plugins/c/views.h"

#include <span>
#include <string>

#include "plugins/c/status.h"
#include "weir/error.h"

namespace weir::c {

DType DTypeOf(std::int32_t dtype) {
  if (dtype >= 0 && dtype < kDTypeCount) return static_cast<DType>(dtype);
  throw InvalidArgument("there is no dtype " + std::to_string(dtype) + ": weir.h has 0 to " +
                        std::to_string(kDTypeCount - 1));
}

ReduceOp OpOf(std::int32_t op) {
  if (op >= WEIR_AVERAGE && op <= WEIR_PRODUCT) return static_cast<ReduceOp>(op);
  throw InvalidArgument("there is no op " + std::to_string(op) + ": weir.h has 0 to " +
                        std::to_string(WEIR_PRODUCT));
}

Shape ShapeOf(const std::int64_t* shape, std::int32_t dimensions) {
  if (dimensions < 0) throw InvalidArgument("dimensions = " + std::to_string(dimensions));
  if (dimensions > 0) Need(shape, "shape");
  return Shape(std::span(shape, static_cast<std::size_t>(dimensions)));
}

TensorView ViewOf(const weir_array* array, const char* what) {
  Need(array, what);
  return {.data = array->data,
          .dtype = DTypeOf(array->dtype),
          .shape = ShapeOf(array->shape, array->dimensions),
          .device = {array->gpu},
          .stream = array->stream};
}

AllocateOutput AllocatorOf(weir_allocate allocate, void* context) {
  if (allocate == nullptr) throw InvalidArgument("allocate is null");
  return [allocate, context](const Shape& shape, std::span<const std::int64_t> rows) {
    void* const memory =
        allocate(context, shape.dims().data(), static_cast<std::int32_t>(shape.rank()), rows.data(),
                 static_cast<std::int32_t>(rows.size()));
    if (memory == nullptr && shape.elements() > 0) {
      throw InvalidArgument("allocate returned null for " + shape.ToString());
    }
    return memory;
  };
}

void ThrowSize(std::size_t size) {
  throw InvalidArgument("a structure has the size " + std::to_string(size) +
                        ": begin with its WEIR_..._INIT, which sets it");
}

void NeedZero(std::int32_t reserved) {
  if (reserved == 0) return;
  throw InvalidArgument("reserved = " + std::to_string(reserved) +
                        ", which has to be 0: begin with WEIR_..._INIT");
}

}  // namespace weir::c
