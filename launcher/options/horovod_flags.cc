#include "launcher/options/horovod_flags.h"

#include <vector>

namespace weir::launcher {
namespace {

std::vector<AcceptedFlag> MakeAccepted() {
  return {
      {"--jsrun", 0, "ranks are started by MPICH's mpiexec, never by jsrun"},
      {"--disable-cache", 0, ""},
      {"--torus-allreduce", 0, "there are no rings of GPUs here to make a torus of"},
      {"--no-torus-allreduce", 0, ""},
      {"--mpi-threads-disable", 0,
       "one thread of each rank makes all of Weir's calls of MPI anyway"},
      {"--no-mpi-threads-disable", 0, ""},
      {"--num-nccl-streams", 1, "a rank has one stream for NCCL in each process set"},
      {"--thread-affinity", 1, "single threads are not bound; --binding-args binds ranks"},
      {"--autotune-gaussian-process-noise", 1,
       "plans are measured, and no Gaussian process guesses between them"},
      {"--gloo-timeout-seconds", 1, "there is no Gloo here; --start-timeout limits the start"},
  };
}

}  // namespace

std::span<const AcceptedFlag> AcceptedFlags() {
  static const std::vector<AcceptedFlag> flags = MakeAccepted();
  return flags;
}

std::span<const ControllerFlag> ControllerFlags() {
  static const std::vector<ControllerFlag> flags = {{"--mpi", "mpi"}, {"--gloo", "ucx"}};
  return flags;
}

}  // namespace weir::launcher
