#include <string>
#include <string_view>
#include <utility>

#include "common/gpu_library.h"
#include "plugins/python/src/bindings.h"
#include "weir/dtype.h"
#include "weir/settings.h"
#include "weir/version.h"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  module.doc() = "The engine, as weir.torch uses it. Not an interface for programs.";
  // What an engine still holds when the interpreter ends is no leak worth a report.
  nb::set_leak_warnings(false);
  nb::dict dtypes;
  for (int i = 0; i < weir::kDTypeCount; ++i) {
    const std::string_view name = weir::Name(static_cast<weir::DType>(i));
    dtypes[nb::str(name.data(), name.size())] = i;
  }
  module.attr("DTYPES") = dtypes;
  module.def("version", &weir::Version);
  // Whether the library for GPUs is there, and can be used.
  module.def("gpu_support", [] {
    const std::string path = weir::Settings::FromEnvironment().gpu_library;
    const weir::GpuLibrary library = weir::GpuLibrary::Load(path);
    return std::pair(library.api() != nullptr, weir::FindGpuSupport(library).usable);
  });
  weir::python::BindErrors(module);
  weir::python::BindEngine(module);
  weir::python::BindGathered(module);
  weir::python::BindGradientGroup(module);
}
