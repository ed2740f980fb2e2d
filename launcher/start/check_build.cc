#include "launcher/start/check_build.h"

#include <filesystem>

#include "common/gpu/gpu_library.h"
#include "common/gpu/nccl_library.h"
#include "common/libraries/ucx_library.h"
#include "launcher/start/mpiexec.h"
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

/// Returns the folder in which the Python package mpich, whose mpiexec this is, brings UCX.
std::string FolderOfUcx(const std::string& mpiexec) {
  if (mpiexec.empty()) return {};
  return std::filesystem::path(mpiexec).parent_path().parent_path() / "lib" / "mpich";
}

}  // namespace

std::string CheckBuild() {
  const std::string mpiexec = MpiexecOrNothing();
  const Settings settings = Settings::FromEnvironment();
  const GpuSupport gpu = FindGpuSupport(GpuLibrary::Load(settings.gpu_library));
  const NcclLibrary nccl = NcclLibrary::Load(settings.nccl_library);
  const UcxLibrary ucx = UcxLibrary::Load(settings.ucx_library, FolderOfUcx(mpiexec));
  return std::string("Weir v") + Version() + ":\n\nAvailable Controllers:\n" +
         Line(!mpiexec.empty(),
              mpiexec.empty() ? "MPI (no mpiexec found)" : "MPI (" + mpiexec + ")") +
         "\nAvailable Tensor Operations:\n" + Line(true, "MPI") +
         Line(ucx.trouble().empty(),
              "UCX (" +
                  (ucx.trouble().empty() ? ucx.version() + ", " + ucx.name() : ucx.trouble()) +
                  ")") +
         Line(gpu.usable, "CUDA (" + gpu.text + ")") +
         Line(nccl.version() != 0,
              "NCCL (" + (nccl.version() == 0 ? nccl.trouble() : NcclVersionText(nccl.version())) +
                  ")");
}

}  // namespace weir::launcher
