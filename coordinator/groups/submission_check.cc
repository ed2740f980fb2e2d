#include "coordinator/groups/submission_check.h"

#include <string>

#include "weir/error.h"

namespace weir {

void CheckSubmission(const GradientGroupSpec& spec, int rank, bool in_step, std::size_t index,
                     const ConstTensorView& gradient, const TensorView& update) {
  if (index >= spec.tensors.size()) {
    throw InvalidArgument("gradient number " + std::to_string(index) + " of '" + spec.name +
                          "', which has " + std::to_string(spec.tensors.size()) + " tensors");
  }
  const GradientSpec& tensor = spec.tensors[index];
  const ErrorContext where{tensor.name, {rank}, "submit"};
  if (!in_step) {
    throw InvalidArgument(
        "gradient '" + tensor.name + "' was submitted outside a step: call BeginStep first", where);
  }
  const auto check = [&](const char* what, const void* data, DType dtype, const Shape& shape,
                         Device device) {
    if (device != tensor.device) {
      throw InvalidArgument("the " + std::string(what) + " of '" + tensor.name + "' is on " +
                                device.ToString() + ", but it was registered on " +
                                tensor.device.ToString(),
                            where);
    }
    if (dtype != tensor.dtype || shape != tensor.shape) {
      throw InvalidArgument("the " + std::string(what) + " of '" + tensor.name + "' is " +
                                std::string(Name(dtype)) + " " + shape.ToString() +
                                ", but it was registered as " + std::string(Name(tensor.dtype)) +
                                " " + tensor.shape.ToString(),
                            where);
    }
    if (data == nullptr && shape.elements() > 0) {
      throw InvalidArgument("the " + std::string(what) + " of '" + tensor.name + "' is null",
                            where);
    }
  };
  if (tensor.device.is_gpu() && gradient.stream != update.stream) {
    throw InvalidArgument("the gradient and the update of '" + tensor.name +
                              "' are of different streams: give both the one that is to be waited "
                              "for",
                          where);
  }
  check("gradient", gradient.data, gradient.dtype, gradient.shape, gradient.device);
  check("update", update.data, update.dtype, update.shape, update.device);
}

}  // namespace weir
