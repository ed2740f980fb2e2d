#include <string_view>

#include "common/gpu/gpu_library.h"
#include "common/gpu/nccl_library.h"
#include "plugins/python/src/bindings.h"
#include "weir/dtype.h"
#include "weir/settings.h"
#include "weir/version.h"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  module.doc() = "The engine, as weir.torch uses it. Not an interface for programs.";
  // Objects that an engine still holds when the interpreter ends are not leaks.
  nb::set_leak_warnings(false);
  nb::dict dtypes;
  for (int i = 0; i < weir::kDTypeCount; ++i) {
    const std::string_view name = weir::Name(static_cast<weir::DType>(i));
    dtypes[nb::str(name.data(), name.size())] = i;
  }
  module.attr("DTYPES") = dtypes;
  module.def("version", &weir::Version);
  const auto library = [] {
    return weir::GpuLibrary::Load(weir::Settings::FromEnvironment().gpu_library);
  };
  // Asks CUDA nothing, because the program may not have chosen its devices yet.
  module.def("has_gpu_library", [library] { return library().api() != nullptr; });
  module.def("can_use_gpus", [library] { return weir::FindGpuSupport(library()).usable; });
  module.def("nccl_version", [] {
    return weir::NcclLibrary::Load(weir::Settings::FromEnvironment().nccl_library).version();
  });
  weir::python::BindErrors(module);
  weir::python::BindEngine(module);
  weir::python::BindGathered(module);
  weir::python::BindGradientGroup(module);
  weir::python::BindForecast(module);
  weir::python::BindSavedState(module);
#ifdef WEIR_JAX
  weir::python::BindJax(module);
#endif
}
