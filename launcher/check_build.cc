#include "launcher/check_build.h"

#include <filesystem>

#include "launcher/mpiexec.h"
#include "weir/error.h"
#include "weir/version.h"

namespace weir::launcher {
namespace {

namespace fs = std::filesystem;

std::string Line(bool there, const std::string& what) {
  return std::string("    [") + (there ? "X" : " ") + "] " + what + "\n";
}

/// The GPU part is a library of its own that the engine loads when it is there.
bool HasCudaLibrary() {
  const fs::path prefix = fs::path(OwnPath()).parent_path().parent_path();
  return fs::exists(prefix / "lib" / "libweir_cuda.so") ||
         fs::exists(prefix / "lib64" / "libweir_cuda.so");
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
  return std::string("Weir v") + Version() + ":\n\nAvailable Controllers:\n" +
         Line(!mpiexec.empty(),
              mpiexec.empty() ? "MPI (no mpiexec found)" : "MPI (" + mpiexec + ")") +
         "\nAvailable Tensor Operations:\n" + Line(true, "MPI") + Line(HasCudaLibrary(), "NCCL");
}

}  // namespace weir::launcher
