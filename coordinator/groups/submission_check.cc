#include "coordinator/groups/submission_check.h"

#include <cmath>
#include <string>

#include "weir/error.h"

namespace weir {

void CheckStepInfo(const GradientGroupSpec& spec, std::span<const float> rates,
                   const StepInfo& info, std::size_t parameter_groups, bool on_gpu) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgument("BeginStep got " + what);
  };
  const std::string of_groups =
      " for the " + std::to_string(parameter_groups) + " parameter groups of '" + spec.name + "'";
  if (rates.size() != parameter_groups) {
    refuse(std::to_string(rates.size()) + " learning rates" + of_groups);
  }
  for (const float rate : rates) {
    if (!std::isfinite(rate)) {
      refuse("the learning rate " + std::to_string(rate) + " for '" + spec.name +
             "'; it must be a finite number");
    }
  }
  if (!(info.loss_scale > 0.0f) || std::isinf(info.loss_scale)) {
    refuse("the loss scale " + std::to_string(info.loss_scale) + "; it must be finite and above 0");
  }
  if (info.momenta.empty()) return;
  for (const std::span<const double> momenta : {info.momenta, info.previous_momenta}) {
    if (momenta.empty()) continue;
    if (momenta.size() != parameter_groups) {
      refuse(std::to_string(momenta.size()) + " momenta" + of_groups);
    }
    for (const double momentum : momenta) {
      if (momentum >= 0.0 && momentum < 1.0) continue;
      refuse("the momentum " + std::to_string(momentum) + " for '" + spec.name +
             "'; it must be at least 0 and below 1");
    }
  }
  if (on_gpu) {
    refuse("a momentum that changes for '" + spec.name +
           "', which kernels on a GPU do not take yet");
  }
}

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
