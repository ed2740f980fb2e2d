#include "launcher/check_build.h"

#include "common/gpu_library.h"
#include "launcher/mpiexec.h"
#include "weir/error.h"
#include "weir/settings.h"
#include "weir/version.h"

namespace weir::launcher {
namespace {

std::string Line(bool there, const std::string& what) {
  return std::string("    [") + (there ? "X" : " ") + "] " + what + "\n";
}

std::string MpiexecOrNothing() {
  try {
    return FindMpiexec();
  } catch (const InvalidArgument&) {
    return {};
  }
}

}  // namespace

std::string CheckBuild() {
  const std::string mpiexec = MpiexecOrNothing();
  const GpuSupport gpu = FindGpuSupport(GpuLibrary::Load(Settings::FromEnvironment().gpu_library));
  return std::string("Weir v") + Version() + ":\n\nAvailable Controllers:\n" +
         Line(!mpiexec.empty(),
              mpiexec.empty() ? "MPI (no mpiexec found)" : "MPI (" + mpiexec + ")") +
         "\nAvailable Tensor Operations:\n" + Line(true, "MPI") +
         Line(gpu.usable, "CUDA (" + gpu.text + ")") + Line(false, "NCCL");
}

}  // namespace weir::launcher
