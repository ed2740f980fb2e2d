#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "weir/tensor.h"

/// The extension weir._core. Tensors cross as addresses, so it is compiled against no framework:
/// the Python side vouches for the memory and keeps it alive until the operation was waited for.
/// The engine's threads need the interpreter only for GPU memory of results whose size comes late
/// (gathered.h). So no thread may wait for the engine while it holds the interpreter.
namespace weir::python {

/// Shape of a tensor, as in Python.
using Dims = std::vector<std::int64_t>;

inline void* PointerTo(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): it came from one.
}
/// Place of a tensor: the number of its GPU, or Device::kCpu, and the cudaStream_t in
/// which the program works on it.
using Place = std::pair<int, std::uintptr_t>;
inline const Place kOnCpu{Device::kCpu, 0};

inline TensorView ViewOf(std::uintptr_t address, DType dtype, const Dims& dims,
                         const Place& place = kOnCpu) {
  return {PointerTo(address), dtype, Shape(dims), Device{place.first}, PointerTo(place.second)};
}

void BindErrors(nanobind::module_& module);
void BindEngine(nanobind::module_& module);
void BindGathered(nanobind::module_& module);
void BindGradientGroup(nanobind::module_& module);
void BindForecast(nanobind::module_& module);
void BindSavedState(nanobind::module_& module);
/// Present where the extension was built beside jaxlib, whose headers alone it takes.
void BindJax(nanobind::module_& module);

}  // namespace weir::python
